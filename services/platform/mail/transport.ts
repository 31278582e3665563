import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTransport } from 'nodemailer';
import type { NodemailerError } from 'nodemailer';
import pLimit from 'p-limit';

export const transportLimits = {
  /** To the mail server, in each worker process. */
  connections: 2,
  connectMs: 10_000,
  greetingMs: 10_000,
  /** Without a byte from the server. */
  silenceMs: 60_000,
  /** How long a stopping process waits for mails that are being handed over. */
  drainMs: 4_000,
} as const;

/** Hands mails to a mail server. */
export type MailTransport = {
  /**
   * Resolves when the server has taken the mail. `handOver` runs once the server has accepted sender
   * and recipient, right before the first byte; when it rejects, no byte is sent and `send` rejects
   * with the same error.
   *
   * @throws MailNotSent
   */
  send(message: MailMessage, handOver: () => Promise<void>): Promise<void>;
  /** Waits for mails on their way, cuts off those that take too long, and accepts no more. */
  close(): Promise<void>;
};

export type MailMessage = {
  /** Makes the Message-ID, the same for every try, by which a server recognizes a copy. */
  id: string;
  to: string;
  replyTo?: string;
  subject: string;
  text: string;
  html: string;
};

/**
 * Why the server has not taken a mail, without the server's own text, which repeats addresses.
 * `passing` may be tried again and `refused` may not; `unknown` may have been taken.
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
  /** Null: every mail waits. */
  smtpUrl: string | null;
  /** `Name <address>` or an address. */
  from: string;
  publicUrl: string;
  limits?: Partial<Record<keyof typeof transportLimits, number>>;
};

/**
 * A few connections that are kept open. When one breaks, even after the last byte, the library would
 * send its mail over the next one; that is switched off, because our own queue decides on a copy.
 */
export function createMailTransport(settings: MailTransportSettings): MailTransport {
  if (settings.smtpUrl === null) return withoutServer;
  const limits = { ...transportLimits, ...settings.limits };
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
        // The library changes the error that it catches.
        throw new Error('Not handed over', { cause: error });
      }
    });
    try {
      await pool.sendMail({
        messageId,
        to: { name: '', address: message.to },
        ...(message.replyTo === undefined
          ? {}
          : { replyTo: { name: '', address: message.replyTo } }),
        subject: message.subject,
        text: message.text,
        html: message.html,
        headers: { 'Auto-Submitted': 'auto-generated' },
        baseBoundary: message.id,
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

/** Connects and signs in, and sends nothing. @throws MailNotSent */
export async function checkMailServer(smtpUrl: string): Promise<void> {
  const { connectMs, greetingMs } = transportLimits;
  const transport = createTransport({
    ...serverOf(new URL(smtpUrl)),
    connectionTimeout: connectMs,
    dnsTimeout: connectMs,
    greetingTimeout: greetingMs,
    socketTimeout: connectMs,
  });
  try {
    await transport.verify();
  } catch (error) {
    throw notSent(error as NodemailerError, false);
  } finally {
    transport.close();
  }
}

type Progress = { handedOver: boolean; prevented: { reason: unknown } | null };

const withoutServer: MailTransport = {
  send: async () => Promise.reject(new MailNotSent('passing', 'no-server')),
  close: async () => undefined,
};

/** The library reads the source only once the server waits for it. */
async function* afterwards(begin: () => Promise<void>, source: Readable): AsyncGenerator<Buffer> {
  await begin();
  yield* source;
}

/**
 * Host, port and login only: the library reads any option from a URL, also those that are switched off
 * above. A password is never sent without TLS, except to this machine; otherwise STARTTLS is used where
 * the server offers it, and certificates are verified.
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
 * After the hand-over, only a refusal by the server is certain: without an answer the mail may have been
 * taken. A 5xx is final when it answers sender, recipient or content; about the connection (a wrong
 * password, a closed server) it is the operator's to repair, and the mail is tried again.
 */
function notSent(error: NodemailerError, handedOver: boolean): MailNotSent {
  const { responseCode, command = '', code = 'unknown' } = error;
  // The system's code, such as ECONNREFUSED, under the library's own.
  const { originalCode: reason = code } = error;
  const answered = responseCode !== undefined && responseCode >= 400;
  if (handedOver && !answered) return new MailNotSent('unknown', reason);
  if (code === 'EAUTH') return new MailNotSent('passing', code);
  const aboutMail = ['MAIL FROM', 'RCPT TO', 'DATA'].includes(command);
  const permanent = answered ? error.permanent === true && aboutMail : isOurs(error);
  return new MailNotSent(permanent ? 'refused' : 'passing', answered ? `${responseCode}` : reason);
}

/** The library finds that sender or recipient is no address. */
function isOurs({ code, command }: NodemailerError): boolean {
  return code === 'EENVELOPE' && command === 'API';
}
