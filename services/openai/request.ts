import { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import { parseInput } from '#services/platform/http/http.ts';
import { Problem } from '#services/platform/problem.ts';
import type { ChatRequest } from './contract.ts';

type Message = ChatRequest['messages'][number];

/**
 * The question that a chat asks: its last message, with the earlier ones as context.
 *
 * @throws Problem 400 `validation`, naming fields of the chat
 */
export function questionOf({
  model,
  messages,
  challenge_type,
  objectives,
  constraints,
  allow_simulated,
}: ChatRequest): CreateOptimizationRequest {
  const last = messages.at(-1);
  if (last?.role !== 'user') throw fault('messages', 'The last message must be from the user.');
  const asked = {
    challenge: textOf(last),
    context: contextOf(messages.slice(0, -1)),
    strategy: model,
    challenge_type,
    objectives,
    constraints,
    allow_simulated,
  };
  try {
    return parseInput(CreateOptimizationRequest, asked);
  } catch (error) {
    throw error instanceof Problem ? inFieldsOfChat(error) : error;
  }
}

function textOf({ content }: Message): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n\n');
}

const speakers: Readonly<Record<Message['role'], string>> = {
  system: 'Instructions',
  developer: 'Instructions',
  user: 'Earlier question',
  assistant: 'Earlier answer',
};

/** One system message, the usual case, is the context as it is written. */
function contextOf(earlier: readonly Message[]): string {
  const [only, ...others] = earlier;
  if (only !== undefined && others.length === 0 && speakers[only.role] === 'Instructions')
    return textOf(only);
  return earlier.map((message) => `${speakers[message.role]}:\n${textOf(message)}`).join('\n\n');
}

const fieldsOfChat: Readonly<Record<string, string>> = {
  challenge: 'messages',
  context: 'messages',
  strategy: 'model',
};

function inFieldsOfChat({ code, message, extras }: Problem): Problem {
  const errors = (extras.errors ?? []).map(({ field, message: sentence }) => ({
    field: fieldsOfChat[field] ?? field,
    message:
      field === 'strategy' ? 'There is no such model. `GET /v1/models` lists them.' : sentence,
  }));
  return new Problem(code, errors[0]?.message ?? message, { ...extras, errors });
}

function fault(field: string, message: string): Problem {
  return new Problem('validation', message, { errors: [{ field, message }] });
}
