import type pg from 'pg';
import type { Ledger } from '#services/credits/ledger/ledger.ts';
import type { Audit } from '#services/platform/audit.ts';
import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import type { Log } from '#services/platform/process/log.ts';
import type { QueueMail } from '#services/platform/mail/mail.ts';
import type { WebhookEvent, PaymentProvider } from './provider.ts';

/** What everything about payments stands on; made once per process. */
export type PaymentDependencies = {
  pool: pg.Pool;
  /** Where no payments can be made it refuses every call with 503 `payments-unavailable`. */
  provider: PaymentProvider;
  ledger: Ledger;
  /** Milliseconds since 1970. */
  clock: () => number;
  queueMail: QueueMail;
  /** Where notices to a person go; null when no address of theirs is proved. */
  noticeAddress: (userId: string) => Promise<string | null>;
  /** False while no mail server is set: emails wait until there is one. */
  sendsMail: boolean;
  /** Where notices to the operator go; null where none is set. */
  contactEmail: string | null;
  /** Who pays, as the provider gets it; null for an account that is gone or being erased. */
  billedPerson: (userId: string) => Promise<{ email: string; name: string } | null>;
  /** False with test keys: no money moves. Emails about money say so. */
  movesMoney: boolean;
  publicUrl: string;
  productName: string;
  audit: Audit;
  log: Log;
};

export type PaymentRouteDependencies = PaymentDependencies & {
  rateLimits: RateLimits;
  monthlyLimits: Readonly<Record<string, number>>;
  /** Other origins whose pages are ours, too. */
  corsOrigins: readonly string[];
  isLocal: boolean;
};

/**
 * Processes one type of webhook event, in any order and any number of times; the answer is the outcome
 * in one word. It reads the object from the provider and never trusts the event.
 */
export type WebhookHandler = (event: StoredWebhookEvent) => Promise<string>;
export type StoredWebhookEvent = WebhookEvent & { receivedAt: number };
export type WebhookHandlers = Readonly<Record<string, WebhookHandler>>;
