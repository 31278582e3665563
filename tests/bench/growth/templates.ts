import type pg from 'pg';
import { readStoredStream } from '#db/streams.ts';
import type { StoredEvent } from '#services/platform/command.ts';
import { createSealer } from '#services/platform/seal.ts';
import type { Sealer } from '#services/platform/seal.ts';
import type { GrowthDatabase } from './database.ts';

/** A real run, its texts opened and cut to the length that generated ones have. */
export type Template = {
  runId: string;
  userId: string;
  /** Milliseconds since 1970, of its first event. */
  createdAt: number;
  events: readonly TemplateEvent[];
};

export type TemplateEvent = StoredEvent & {
  metadata: Readonly<Record<string, unknown>>;
  /** By the field of `data.sealed`, whose values name these fields. */
  texts: Readonly<Record<string, string>>;
};

/** Bytes of a generated text. */
const textBytes = 200;

/** The newest runs of each strategy. */
export async function readTemplates(
  { pool, keys }: GrowthDatabase,
  perStrategy: number,
): Promise<Template[]> {
  const sealer = createSealer({ dataKeys: keys.data, pool });
  const { rows } = await pool.query<{ run_id: string; user_id: string }>(
    `select run_id, user_id from (
       select *, row_number() over (partition by strategy order by created_at desc) as number
       from optimization_list where status = 'completed') run
     where number <= $1 order by number, strategy`,
    [perStrategy],
  );
  const templates: Template[] = [];
  for (const row of rows) templates.push(await readTemplate(pool, sealer, row.run_id, row.user_id));
  return templates;
}

async function readTemplate(
  pool: pg.Pool,
  sealer: Sealer,
  runId: string,
  userId: string,
): Promise<Template> {
  const streamId = `optimization-${runId}`;
  const { events } = await readStoredStream(pool, streamId);
  const read: TemplateEvent[] = [];
  for (const { type, data, metadata } of events) {
    const { hash: _, ...rest } = metadata;
    const sealed = (data['sealed'] ?? {}) as Readonly<Record<string, string>>;
    const texts: Record<string, string> = {};
    for (const [field, value] of Object.entries(sealed)) {
      const opened = await sealer.open(value, { stream: streamId, field });
      texts[field] = 'text' in opened ? fitting(opened.text, isParsed(data, field)) : '';
    }
    read.push({ type, data, metadata: rest, texts });
  }
  return {
    runId,
    userId,
    createdAt: Date.parse(String(events[0]?.metadata['occurredAt'])),
    events: read,
  };
}

/** Whether pages read a structure from the text. */
function isParsed(data: Readonly<Record<string, unknown>>, field: string): boolean {
  return field !== 'reply' || /^(?:opinion|draft)\./.test(String(data['slot']));
}

/** A text that pages parse keeps its structure, and its words become short. */
function fitting(text: string, parses: boolean): string {
  const parsed = parses ? structureOf(text) : null;
  return parsed === null ? sized(text) : JSON.stringify(parsed, shortened);
}

function structureOf(text: string): object | null {
  if (!/^[[{]/.test(text)) return null;
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === 'object' ? parsed : null;
  } catch {
    return null;
  }
}

function shortened(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.slice(0, shortWords) : value;
}

/** Characters of each text inside a structured one. */
const shortWords = 4;

function sized(text: string): string {
  const filler = `${text} `;
  return filler
    .repeat(Math.ceil(textBytes / filler.length))
    .slice(0, textBytes)
    .trimEnd();
}
