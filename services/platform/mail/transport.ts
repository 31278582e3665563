import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTransport } from 'nodemailer';
import type { NodemailerError } from 'nodemailer';
import pLimit from 'p-limit';
import { mailLimits } from '#services/platform/limits.ts';

/** Hands mails to a mail server. */
export type MailTransport = {
  /**
   * Resolves when the server has taken the mail. `handOver` runs once the server has said that it
   * will take sender and recipient, right before the first byte of the mail; when it rejects, no byte
   * is sent and the rejection is passed on.
   *
   * @throws MailNotSent
   */
  send(message: MailMessage, handOver: () => Promise<void>): Promise<void>;
  /** Waits for mails on their way, cuts off those that take too long, and takes no more. */
  close(): Promise<void>;
};

export type MailMessage = {
  /** The same for every try, so that a server may know it again. */
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
};

/**
 * Why the server has not taken a mail, in words of our own: what a server says repeats addresses.
 * `passing` may be tried again, `refused` may not, and of `unknown` nobody knows whether it was taken.
 */
export class MailNotSent extends Error {
  override readonly name = 'MailNotSent';
  readonly outcome: 'passing' | 'refused' | 'unknown';
  /** The server's number, or the kind of failure. */
  readonly code: string;

  constructor(outcome: MailNotSent['outcome'], code: string) {
    super(`The mail server has not taken a mail (${outcome}, ${code})`);
    this.outcome = outcome;
    this.code = code;
  }
}

export type MailTransportSettings = {
  /** Null: nothing can be sent, and every mail waits. */
  smtpUrl: string | null;
  /** `Name <address>` or an address. */
  from: string;
  publicUrl: string;
  limits?: Partial<Record<keyof typeof mailLimits, number>>;
};

/**
 * A few connections that are kept open. The library would give a mail to the next connection when one
 * breaks, even after its last byte; that is switched off, because it could arrive twice.
 */
export function createMailTransport(settings: MailTransportSettings): MailTransport {
  if (settings.smtpUrl === null) return withoutServer;
  const limits = { ...mailLimits, ...settings.limits };
  const host = new URL(settings.publicUrl).hostname;
  const pool = createTransport(
    {
      ...serverOf(new URL(settings.smtpUrl)),
      pool: true,
      maxConnections: limits.connections,
      maxRequeues: 0,
      connectionTimeout: limits.connectMs,
      dnsTimeout: limits.connectMs,
      greetingTimeout: limits.greetingMs,
      socketTimeout: limits.silenceMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from: settings.from },
  );
  // One that waits for a connection has not begun, and can still be given to another process.
  const turns = pLimit(limits.connections);
  const beginnings = new Map<string, () => Promise<void>>();
  const open = new Set<Promise<void>>();
  let closing = false;

  pool.use('stream', (mail, done) => {
    const begin = beginnings.get(mail.message.messageId());
    if (begin) mail.message.processFunc((input) => Readable.from(afterwards(begin, input)));
    done();
  });

  async function sendNow(message: MailMessage, handOver: () => Promise<void>): Promise<void> {
    if (closing) throw new MailNotSent('passing', 'closing');
    const messageId = `<${message.id}@${host}>`;
    const progress: Progress = { handedOver: false, prevented: null };
    beginnings.set(messageId, async () => {
      try {
        await handOver();
        progress.handedOver = true;
      } catch (error) {
        progress.prevented = { reason: error };
        // The library writes into what it is thrown.
        throw new Error('Not handed over', { cause: error });
      }
    });
    try {
      await pool.sendMail({
        messageId,
        to: { name: '', address: message.to },
        subject: message.subject,
        text: message.text,
        html: message.html,
        headers: { 'Auto-Submitted': 'auto-generated' },
      });
    } catch (error) {
      if (progress.prevented) throw progress.prevented.reason;
      throw notSent(error as NodemailerError, progress.handedOver);
    } finally {
      beginnings.delete(messageId);
    }
  }

  return {
    async send(message, handOver) {
      const sent = turns(async () => sendNow(message, handOver));
      open.add(sent);
      try {
        await sent;
      } finally {
        open.delete(sent);
      }
    },
    async close() {
      closing = true;
      const drained = Promise.allSettled(open);
      await Promise.race([drained, sleep(limits.drainMs, undefined, { ref: false })]);
      pool.close({ force: true });
    },
  };
}

type Progress = { handedOver: boolean; prevented: { reason: unknown } | null };

const withoutServer: MailTransport = {
  send: async () => Promise.reject(new MailNotSent('passing', 'no-server')),
  close: async () => undefined,
};

/** The source is read only once the server waits for it: that is the moment to say so. */
async function* afterwards(begin: () => Promise<void>, source: Readable): AsyncGenerator<Buffer> {
  await begin();
  yield* source;
}

/**
 * Only place and name: an address may carry any option of the library, and some of them would undo
 * what keeps a mail from going out twice. A name and a password never travel in the clear, except to
 * this machine; otherwise STARTTLS is used where the server offers it, and certificates are checked.
 */
function serverOf(url: URL) {
  const secure = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const auth =
    url.username === ''
      ? {}
      : {
          auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) },
        };
  return {
    host,
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    requireTLS: !secure && url.username !== '' && !isLoopback(host),
    ...auth,
  };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/**
 * Before the hand-over nothing is uncertain. After it only the server's own no is certain: without an
 * answer the mail may have been taken. A 5xx is about the mail when it answers sender, recipient or
 * the mail itself; about the connection (a wrong password, a server that is closed) it is repaired by
 * the operator and tried again.
 */
function notSent(error: NodemailerError, handedOver: boolean): MailNotSent {
  const { responseCode, command = '', code = 'unknown' } = error;
  // Of the system, such as ECONNREFUSED, where the library names only its own part in it.
  const { originalCode: reason = code } = error;
  const answered = responseCode !== undefined && responseCode >= 400;
  if (handedOver && !answered) return new MailNotSent('unknown', reason);
  if (code === 'EAUTH') return new MailNotSent('passing', code);
  const aboutMail = ['MAIL FROM', 'RCPT TO', 'DATA'].includes(command);
  const permanent = answered ? error.permanent === true && aboutMail : isOurs(error);
  return new MailNotSent(permanent ? 'refused' : 'passing', answered ? `${responseCode}` : reason);
}

/** The library itself finds sender or recipient to be no address. */
function isOurs({ code, command }: NodemailerError): boolean {
  return code === 'EENVELOPE' && command === 'API';
}
