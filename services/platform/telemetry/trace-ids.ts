import { hexOfId } from '#services/platform/ids.ts';

/**
 * The id of the trace to which everything with this correlation id belongs: its 128 bits. All processes find
 * it in what they store already, so that no table and no job carries a trace. Null for other texts.
 */
export function traceIdOf(correlationId: string): string | null {
  const hex = uuid.test(correlationId)
    ? correlationId.replaceAll('-', '').toLowerCase()
    : hexOfId(correlationId);
  return hex === null || /^0*$/.test(hex) ? null : hex;
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
