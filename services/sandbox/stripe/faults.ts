/**
 * The faults of the real Stripe. Read at each call and each webhook event, so a test may change them
 * at any time; each use lowers a count.
 */
export type FakeFaults = {
  /** How many calls are answered 429 and not done. */
  tooMany?: number;
  /** How many writing calls are done, but answered 500. The same key gets the same 500 again. */
  failAfterCommit?: number;
  /**
   * How many replies to writing calls are cut off, replies to repeats included. The SDK retries once
   * after a cut, so its caller sees a failure only from 2 on.
   */
  loseReply?: number;
  /** Writing calls are done at once, but answered only after this. */
  holdReplies?: Promise<void> | undefined;
  /**
   * The faults above affect only calls with a matching method and path, such as `/^POST
   * \/v1\/refunds/`.
   */
  only?: RegExp | undefined;
  /** The status of new refunds; `succeeded` when absent. */
  refunds?: 'succeeded' | 'pending' | 'failed' | undefined;
  /** Each webhook event is sent so many times more. */
  duplicate?: number;
  /** What waits is delivered newest first. */
  reorder?: boolean;
  /** New webhook events wait so long at first. */
  delayMs?: number;
  /** So many new webhook events are never sent. */
  drop?: number;
  /** Signatures are made so many seconds earlier (negative) or later than now. */
  signatureSkewSeconds?: number;
};

type Count = 'tooMany' | 'failAfterCommit' | 'loseReply' | 'drop';

/** Whether a fault strikes now; if so, one less is left of it. */
export function strikes(faults: FakeFaults, name: Count, call?: string): boolean {
  const left = faults[name] ?? 0;
  if (left <= 0) return false;
  if (call !== undefined && faults.only !== undefined && !faults.only.test(call)) return false;
  faults[name] = left - 1;
  return true;
}

/** Thrown where the connection is to be cut instead of answered. */
export class ReplyLost extends Error {
  override readonly name = 'ReplyLost';
}
