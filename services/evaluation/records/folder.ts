import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EvaluationError } from '#services/evaluation/evaluation-error.ts';
import { openLines } from './lines.ts';
import type { Lines } from './lines.ts';
import { answerLine, callLine, judgmentLine } from './records.ts';
import type { AnswerLine, CallLine, JudgmentLine } from './records.ts';

/** Where an evaluation keeps its work, so that a later run continues it. */
export type Folder = {
  calls: Lines<CallLine>;
  /** The latest of this key; null where there is none, or where a failed one is to be tried again. */
  answer(key: string): AnswerLine | null;
  judgment(key: string): JudgmentLine | null;
  addAnswer(line: AnswerLine): void;
  addJudgment(line: JudgmentLine): void;
  writeReport(report: { json: unknown; markdown: string }): void;
  close(): void;
};

/** @throws EvaluationError for a folder whose answers are simulated where these are not, or the reverse */
export function openFolder(
  path: string,
  { retryFailed, simulated }: { retryFailed: boolean; simulated: boolean },
): Folder {
  mkdirSync(path, { recursive: true });
  const answers = openLines(join(path, 'answers.ndjson'), answerLine);
  const judgments = openLines(join(path, 'judgments.ndjson'), judgmentLine);
  const calls = openLines(join(path, 'calls.ndjson'), callLine);
  if (answers.all().some((line) => line.simulated !== simulated))
    throw new EvaluationError(
      `${path} holds ${simulated ? 'answers of real models' : 'simulated answers'}. Choose another folder.`,
    );
  const answersByKey = new Map(answers.all().map((line) => [line.key, line]));
  const judgmentsByKey = new Map(judgments.all().map((line) => [line.key, line]));
  const ofEarlierRuns = new Set([...answers.all(), ...judgments.all()]);
  const kept = <Line extends AnswerLine | JudgmentLine>(line: Line | undefined): Line | null =>
    line === undefined || (retryFailed && line.failure !== null && ofEarlierRuns.has(line))
      ? null
      : line;
  return {
    calls,
    answer: (key) => kept(answersByKey.get(key)),
    judgment: (key) => kept(judgmentsByKey.get(key)),
    addAnswer(line) {
      answers.add(line);
      answersByKey.set(line.key, line);
    },
    addJudgment(line) {
      judgments.add(line);
      judgmentsByKey.set(line.key, line);
    },
    writeReport({ json, markdown }) {
      writeFileSync(join(path, 'report.json'), `${JSON.stringify(json, null, 2)}\n`);
      writeFileSync(join(path, 'report.md'), markdown);
    },
    close() {
      for (const lines of [answers, judgments, calls]) lines.close();
    },
  };
}
