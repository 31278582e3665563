import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import * as v from 'valibot';
import { EvaluationError } from '#services/evaluation/evaluation-error.ts';

/**
 * A file with one JSON value a line, to which lines are added one by one. A process that was killed
 * while it wrote leaves a last line without its end: that line is dropped, and its work is done again.
 */
export type Lines<Line> = {
  all(): readonly Line[];
  /** With the operating system when this returns: no end of this process loses it. */
  add(line: Line): void;
  close(): void;
};

/** @throws EvaluationError for a whole line of another shape */
export function openLines<Line>(path: string, schema: v.GenericSchema<unknown, Line>): Lines<Line> {
  const lines = existsSync(path) ? readWhole(path, schema) : [];
  const file = openSync(path, 'a', 0o600);
  return {
    all: () => lines,
    add(line) {
      writeSync(file, `${JSON.stringify(line)}\n`);
      lines.push(line);
    },
    close: () => closeSync(file),
  };
}

function readWhole<Line>(path: string, schema: v.GenericSchema<unknown, Line>): Line[] {
  const bytes = readFileSync(path);
  const end = bytes.lastIndexOf('\n') + 1;
  if (end < bytes.length) truncateSync(path, end);
  const texts = bytes.toString('utf8', 0, end).split('\n').slice(0, -1);
  return texts.map((text, index) => {
    const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), text);
    if (parsed.success) return parsed.output;
    throw new EvaluationError(
      `${path}: line ${index + 1} was not written by this version of npm run eval`,
    );
  });
}
