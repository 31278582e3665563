import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import * as v from 'valibot';
import { optimizationLimits } from '#services/optimizations/contract/requests.ts';
import { challengeTypes } from '#services/optimizations/run/events.ts';
import { EvaluationError } from './evaluation-error.ts';
import { hashOf } from './records/hash.ts';

/**
 * The business cases: a question as a user writes it, and a rubric that says what a good answer does.
 * A file of another shape ends the evaluation before it costs anything.
 */

const id = v.pipe(v.string(), v.regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be words-with-hyphens'));
const line = v.pipe(v.string(), v.trim(), v.minLength(1));
const rows = v.pipe(
  v.array(v.pipe(line, v.maxLength(optimizationLimits.row))),
  v.maxLength(optimizationLimits.rows),
);

const criterion = v.strictObject({ id, weight: v.picklist([1, 2, 3]), criterion: line });
const trap = v.strictObject({ id, description: line });

const evaluationCase = v.strictObject({
  id,
  type: v.picklist(challengeTypes),
  question: v.pipe(line, v.maxLength(optimizationLimits.challenge)),
  context: v.pipe(v.string(), v.maxLength(optimizationLimits.context)),
  objectives: rows,
  constraints: rows,
  rubric: v.pipe(
    v.array(criterion),
    v.minLength(5),
    v.maxLength(8),
    v.check((items) => hasOwnIds(items), 'names a criterion twice'),
  ),
  traps: v.pipe(
    v.array(trap),
    v.minLength(1),
    v.maxLength(3),
    v.check((items) => hasOwnIds(items), 'names a trap twice'),
  ),
  /** For readers: what the case tests. No model sees it. */
  note: line,
});

export type EvaluationCase = v.InferOutput<typeof evaluationCase>;

function hasOwnIds(items: readonly { id: string }[]): boolean {
  return new Set(items.map((item) => item.id)).size === items.length;
}

const folder = new URL('./cases/', import.meta.url);

/**
 * All cases, in the order of their files.
 *
 * @throws EvaluationError that names the file and the field
 */
export function loadCases(): EvaluationCase[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => readCase(file, readFileSync(new URL(file, folder), 'utf8')));
}

/** @throws EvaluationError */
export function readCase(file: string, text: string): EvaluationCase {
  const parsed = v.safeParse(evaluationCase, jsonOf(file, text));
  if (!parsed.success) {
    const [issue] = parsed.issues;
    throw new EvaluationError(`${file}: ${v.getDotPath(issue) ?? 'the file'}: ${issue.message}`);
  }
  if (parsed.output.id !== basename(file, '.json'))
    throw new EvaluationError(`${file}: id: must be the name of the file`);
  return parsed.output;
}

function jsonOf(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new EvaluationError(`${file}: is not valid JSON`);
  }
}

/**
 * `all`, or ids and types with commas.
 *
 * @throws EvaluationError for a word that is neither
 */
export function selectCases(all: readonly EvaluationCase[], words: string): EvaluationCase[] {
  if (words === 'all') return [...all];
  const wanted = words.split(',').map((word) => word.trim());
  const unknown = wanted.find(
    (word) => !all.some((each) => each.id === word || each.type === word),
  );
  if (unknown !== undefined)
    throw new EvaluationError(
      `--cases: "${unknown}" is no case and no type. Types: ${challengeTypes.join(', ')}`,
    );
  return all.filter(({ id: own, type }) => wanted.includes(own) || wanted.includes(type));
}

/** Of what models see, so that a changed note repeats nothing. */
export function hashOfCase({ note: _note, ...seen }: EvaluationCase): string {
  return hashOf(seen);
}
