import type { ReadReply } from '#services/optimizations/prompts/read-reply.ts';

/** What is read of a reply that is this value in JSON. */
export function asJson(value: unknown): ReadReply {
  return { value: JSON.parse(JSON.stringify(value)) as unknown, isRepaired: false };
}
