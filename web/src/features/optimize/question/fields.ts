import * as v from 'valibot';
import { CreateOptimizationRequest } from '#services/optimizations/contract/requests.ts';
import { type Optimization } from '#services/optimizations/contract/run.ts';
import { type StrategyId as StrategyIdSchema } from '#services/optimizations/contract/summary.ts';
import { erased } from '#services/optimizations/reading/texts.ts';
import { type AttachedText, filesOf } from './files.ts';
import type { ChallengeType } from '#services/optimizations/contract/summary.ts';
import { suggestChallengeType } from './challenge-type.ts';
import { type Rows, rowsOf, textsOf } from './rows.ts';

export type Fields = {
  readonly challenge: string;
  readonly context: string;
  readonly objectives: Rows;
  readonly constraints: Rows;
  readonly files: readonly AttachedText[];
  /** Null while the text decides. */
  readonly chosenType: ChallengeType | null;
  readonly strategy: StrategyId | null;
  /** Seats without a key may be simulated; only offered in local mode. */
  readonly allowSimulated: boolean;
  /** The run these fields were copied from, if any. */
  readonly from: {
    readonly id: string;
    readonly challenge: string;
    readonly ended: boolean;
  } | null;
  /** The recipe these fields were filled from, if any. */
  readonly recipe: string | null;
};
export type StrategyId = v.InferOutput<typeof StrategyIdSchema>;

export const emptyFields: Fields = {
  challenge: '',
  context: '',
  objectives: rowsOf([]),
  constraints: rowsOf([]),
  files: [],
  chosenType: null,
  strategy: null,
  allowSimulated: false,
  from: null,
  recipe: null,
};

/** The fields of a run, to ask it again or to change it first. */
export function fieldsOfRun(run: Optimization): Fields {
  const known = (text: string): string => (text === erased ? '' : text);
  return {
    challenge: known(run.challenge),
    context: known(run.context),
    objectives: rowsOf(run.objectives),
    constraints: rowsOf(run.constraints),
    files: filesOf(run.files),
    chosenType: run.challenge_type,
    strategy: run.strategy,
    allowSimulated: false,
    from: {
      id: run.id,
      challenge: known(run.challenge),
      ended: run.status !== 'pending' && run.status !== 'processing',
    },
    recipe: null,
  };
}

/** The chosen type, else the one the text indicates, else strategy. */
export function challengeTypeOf({ chosenType, challenge }: Fields): ChallengeType {
  return chosenType ?? suggestChallengeType(challenge) ?? 'business_strategy';
}

/** Whether the user would miss anything in it. */
export function hasText({ challenge, context, objectives, constraints, files }: Fields): boolean {
  if (files.length > 0) return true;
  return [challenge, context, ...textsOf(objectives), ...textsOf(constraints)].some(
    (text) => text.trim() !== '',
  );
}

export type Checked =
  | { readonly ok: true; readonly request: CreateOptimizationRequest }
  /** By field; `objectives.3` is the fourth row that is not empty. */
  | { readonly ok: false; readonly errors: ReadonlyMap<string, string> };

/** The request, parsed by the server's own schema. */
export function checkFields(fields: Fields): Checked {
  const { challenge, context, strategy, allowSimulated, from, recipe } = fields;
  const isSameQuestion = from !== null && from.challenge.trim() === challenge.trim();
  const result = v.safeParse(CreateOptimizationRequest, {
    challenge,
    context,
    objectives: textsOf(fields.objectives),
    constraints: textsOf(fields.constraints),
    files: fields.files.map(({ name, text }) => ({ name, text })),
    strategy: strategy ?? '',
    challenge_type: challengeTypeOf(fields),
    ...(allowSimulated ? { allow_simulated: true } : {}),
    ...(from !== null && from.ended && isSameQuestion ? { retry_of: from.id } : {}),
    ...(recipe === null ? {} : { recipe_id: recipe }),
  });
  if (result.success) return { ok: true, request: result.output };
  const errors = new Map<string, string>();
  for (const issue of result.issues) {
    const path = v.getDotPath(issue) ?? '';
    if (!errors.has(path)) errors.set(path, issue.message);
  }
  return { ok: false, errors };
}
