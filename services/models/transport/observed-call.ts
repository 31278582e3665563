/** Sees each call of a model, for metrics and traces. */
export type BeginCall = (call: StartedCall) => (end: EndedCall) => void;

export type StartedCall = {
  provider: string;
  model: string;
  simulated: boolean;
  /** Of the run that pays for it; undefined for the check of a question. */
  runId?: string;
};

export type EndedCall = {
  /** `answered`, or the class of the failure. */
  outcome: string;
  /** Null while unknown. */
  costMicros: number | null;
  durationMs: number;
};

export const unobserved: BeginCall = () => () => undefined;
