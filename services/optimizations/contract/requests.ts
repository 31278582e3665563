import * as v from 'valibot';
import { Format, IdText, visible, WholeText } from '#services/platform/contract.ts';
import { visibleText } from '#services/platform/visible-text.ts';
import { checkLimits } from '#services/optimizations/check/questions.ts';
import { refinedClaims } from '#services/optimizations/run/events.ts';
import { RunId, ChallengeType, StrategyId, runStatuses } from './summary.ts';

/**
 * Requests and replies of the optimization calls (`spec` names kept, new fields snake_case). Units:
 * `cost` and `total_cost` USD, `costCents` cents, `*Micros` micro-dollars, `latencyMs` milliseconds,
 * scores and progress 0–100, `confidence_score` 0–1. Null means unknown, never 0.
 */

export const optimizationLimits = {
  challenge: 4000,
  context: 20_000,
  rows: 20,
  row: 300,
  files: 5,
  fileName: 120,
  /** Characters of all files together. */
  filesText: 40_000,
  fileBytes: 5_000_000,
  /** Of a request that holds the texts of files. */
  bodyBytes: 400_000,
  title: 120,
  refinement: 1000,
  refinedClaims,
  search: 200,
  /** A search opens the texts of so many runs, the newest. */
  searchedRuns: 1000,
  pageSize: 10,
  pageSizeMost: 100,
  /** Runs in a file. */
  fileRuns: 1000,
} as const;

export const fileTooLarge = `A file can have up to ${optimizationLimits.fileBytes / 1_000_000} MB.`;

const filesTextInWords = optimizationLimits.filesText.toLocaleString('en-US');

/** A list of short texts; those that are empty are left out. */
export const Rows = (what: 'objectives' | 'constraints') =>
  v.pipe(
    v.array(
      v.pipe(
        v.string(),
        v.trim(),
        v.maxLength(
          optimizationLimits.row,
          `Each of the ${what} can have up to ${optimizationLimits.row} characters`,
        ),
        visible,
      ),
    ),
    v.transform((all) => all.filter((row) => row !== '')),
    v.maxLength(optimizationLimits.rows, `Up to ${optimizationLimits.rows} ${what}`),
  );

export const CatalogueVersion = v.pipe(
  v.string(),
  v.maxLength(40),
  v.description(
    'The version of the prices and of the models that would be used; it changes with any of them',
  ),
);

export const AllowSimulated = v.pipe(
  v.boolean(),
  v.description('Whether seats without a real model may be simulated; possible in local mode only'),
);

/** A file as the models read it: its name and its text, without its format. */
const AttachedFile = v.strictObject({
  name: v.pipe(
    v.string('Give the file a name'),
    v.trim(),
    v.nonEmpty('Give the file a name'),
    v.maxLength(
      optimizationLimits.fileName,
      `The name of a file can have up to ${optimizationLimits.fileName} characters`,
    ),
    v.transform(fileNameOf),
    v.nonEmpty('Give the file a name'),
  ),
  text: v.pipe(
    v.string('This file has no text'),
    v.trim(),
    v.nonEmpty('This file has no text'),
    v.maxLength(
      optimizationLimits.filesText,
      `The files can have up to ${filesTextInWords} characters together`,
    ),
    v.transform((text) => visibleText(text).trim()),
    v.nonEmpty('This file has no text'),
  ),
});

/** On one line, without what nobody sees. */
export function fileNameOf(name: string): string {
  return visibleText(name).replace(/\s+/g, ' ').trim();
}

/** `POST /optimizations`. */
export const CreateOptimizationRequest = v.strictObject({
  challenge: v.pipe(
    v.string('What business challenge are you facing?'),
    v.trim(),
    v.nonEmpty('What business challenge are you facing?'),
    v.maxLength(
      optimizationLimits.challenge,
      `The challenge can have up to ${optimizationLimits.challenge} characters`,
    ),
    visible,
    v.nonEmpty('What business challenge are you facing?'),
  ),
  context: v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      v.maxLength(
        optimizationLimits.context,
        `The context can have up to ${optimizationLimits.context} characters`,
      ),
      visible,
    ),
    '',
  ),
  objectives: v.optional(Rows('objectives'), []),
  constraints: v.optional(Rows('constraints'), []),
  files: v.optional(
    v.pipe(
      v.array(AttachedFile),
      v.maxLength(optimizationLimits.files, `Up to ${optimizationLimits.files} files`),
      v.check(
        (files) => charactersOf(files) <= optimizationLimits.filesText,
        `The files can have up to ${filesTextInWords} characters together`,
      ),
      v.description(
        `Texts that the models read with the question, at most ${filesTextInWords} characters together; \`POST /optimizations/files\` reads them from files`,
      ),
    ),
    [],
  ),
  strategy: StrategyId,
  challenge_type: v.optional(ChallengeType, 'business_strategy'),
  allow_simulated: v.optional(AllowSimulated),
  retry_of: v.optional(
    v.pipe(IdText('opt'), v.description('The ended run whose question this one asks again')),
  ),
  recipe_id: v.optional(
    v.pipe(
      IdText('rec'),
      v.description('The recipe it was started from, which counts it. An unknown one is ignored'),
    ),
  ),
  catalogue_version: v.optional(
    v.pipe(
      CatalogueVersion,
      v.description(
        'The `catalogue_version` of the estimate that the user accepted. If it has changed since, the response is 409 `price-changed` with the new `price`',
      ),
    ),
  ),
});
export type CreateOptimizationRequest = v.InferOutput<typeof CreateOptimizationRequest>;

/** `POST /optimizations/check`. */
export const CheckRequest = v.pick(CreateOptimizationRequest, [
  'challenge',
  'context',
  'objectives',
  'constraints',
  'files',
  'challenge_type',
  'allow_simulated',
]);
export type CheckRequest = v.InferOutput<typeof CheckRequest>;

/** The part of a request that a check is asked with. */
export function checkOf({
  strategy: _strategy,
  retry_of: _retryOf,
  recipe_id: _recipeId,
  catalogue_version: _catalogueVersion,
  ...question
}: CreateOptimizationRequest): CheckRequest {
  return question;
}

export const CheckReply = v.object({
  verdict: v.pipe(
    v.picklist(['ready', 'ask', 'undecidable']),
    v.description(
      '`ask`: the answer depends on `questions`; `undecidable`: there is nothing to decide. Both can still be started',
    ),
  ),
  questions: v.pipe(
    v.array(v.pipe(v.string(), v.maxLength(checkLimits.question))),
    v.maxLength(checkLimits.questions),
    v.description('At least one with `ask`, otherwise empty; plain text written by a model'),
  ),
  why: v.pipe(
    v.nullable(v.pipe(v.string(), v.maxLength(checkLimits.why))),
    v.description('With `undecidable`, why, in plain text written by a model; otherwise null'),
  ),
  skipped: v.pipe(
    v.boolean(),
    v.description('No model checked the question, so `ready` says nothing about it'),
  ),
});
export type CheckReply = v.InferOutput<typeof CheckReply>;

/** Of all texts, which are stored trimmed. */
export function charactersOf(files: readonly { text: string }[]): number {
  return files.reduce((sum, { text }) => sum + text.trim().length, 0);
}

/** `POST /optimizations/files`. */
export const ReadFileReply = v.object({
  name: v.string(),
  text: v.pipe(
    v.string(),
    v.description(`At most ${filesTextInWords} characters; empty when the file has none`),
  ),
  pages_read: v.pipe(v.nullable(v.number()), v.description('Null for a format without pages')),
  warnings: v.pipe(
    v.array(v.string()),
    v.description('In words, what was left out or may be wrong'),
  ),
});
export type ReadFileReply = v.InferOutput<typeof ReadFileReply>;

export const runSorts = ['newest', 'oldest', 'credits'] as const;
export type RunSort = (typeof runSorts)[number];

/** `GET /optimizations`: which runs, in which order, and which page of them. */
export const RunsQuery = v.strictObject({
  page: v.optional(v.pipe(WholeText(1, 100_000), v.description('The page number, from 1')), '1'),
  limit: v.optional(
    v.pipe(
      WholeText(1, optimizationLimits.pageSizeMost),
      v.description(
        `Rows per page; ${optimizationLimits.pageSize} by default, and ${optimizationLimits.fileRuns} in a file`,
      ),
    ),
  ),
  status: v.optional(v.picklist(runStatuses, 'Choose one of the listed statuses')),
  strategy: v.optional(StrategyId),
  sort: v.optional(v.picklist(runSorts, 'Choose one of the listed orders'), 'newest'),
  q: v.optional(
    v.pipe(
      v.string(),
      v.trim(),
      v.maxLength(
        optimizationLimits.search,
        `Searches can have up to ${optimizationLimits.search} characters`,
      ),
      v.description('Words that must all be in the title or the question'),
    ),
    '',
  ),
  format: Format('csv'),
});
export type RunsQuery = v.InferOutput<typeof RunsQuery>;

/** `PATCH /optimizations/{id}`. */
export const RenameRequest = v.strictObject({
  title: v.pipe(
    v.string('Enter a title'),
    v.trim(),
    v.nonEmpty('Enter a title'),
    v.maxLength(
      optimizationLimits.title,
      `The title can have up to ${optimizationLimits.title} characters`,
    ),
    visible,
    v.nonEmpty('Enter a title'),
  ),
});
export type RenameRequest = v.InferOutput<typeof RenameRequest>;

/** `DELETE /optimizations/{id}`. */
export const DeletedReply = v.object({ id: RunId, deleted: v.literal(true) });
export type DeletedReply = v.InferOutput<typeof DeletedReply>;
