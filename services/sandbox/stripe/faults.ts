/**
 * What can go wrong with the real one. Read at each call and each webhook event, so a test may change its
 * mind; a count goes down as it is used up.
 */
export type FakeFaults = {
  /** So many calls are answered 429 and not done. */
  tooMany?: number;
  /** So many calls that write are done, and answered 500. The same key hears the same 500 again. */
  failAfterCommit?: number;
  /**
   * So many answers to calls that write are cut off, also those that a repeat hears. The SDK tries once
   * more after a cut, so 2 is what its caller gets to feel.
   */
  loseReply?: number;
  /** Calls that write wait for this before they are answered, done already. */
  holdReplies?: Promise<void> | undefined;
  /** The faults above affect only calls with a matching method and path, such as `/^POST \/v1\/refunds/`. */
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
