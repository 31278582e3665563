import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import type { SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { CaughtMail, Mailbox } from './mailbox.ts';

/** A mail server on loopback that delivers to a mailbox of its own and nowhere else. */
export type MailCatcher = {
  /** Such as `smtp://127.0.0.1:41234`. */
  url: string;
  close(): Promise<void>;
};

/** The faults of a real server. Read at each mail, so a test may change them at any time. */
export type MailTrouble = {
  /** How many recipients are refused for now, by a 450. */
  greylist?: number;
  /** Addresses that do not exist, refused by a 550. */
  refuse?: readonly string[];
  /** How many mails are refused after their last byte, by a 451. */
  refuseContent?: number;
  /** The mail is kept, and then the server stays silent or cuts the connection. */
  afterData?: 'hang' | 'drop' | undefined;
};

export type MailCatcherSettings = {
  mailbox: Mailbox;
  /** 0 or absent takes a free port. */
  port?: number;
  trouble?: MailTrouble;
};

const largestMailBytes = 5 * 1024 * 1024;
const closeMs = 200;

export async function startMailCatcher(settings: MailCatcherSettings): Promise<MailCatcher> {
  const { mailbox, trouble = {} } = settings;
  const sockets = new Map<number, Socket>();
  const server = new SMTPServer({
    logger: false,
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    size: largestMailBytes,
    closeTimeout: closeMs,
    onRcptTo({ address }, _session, answer) {
      if (trouble.refuse?.some((refused) => refused.toLowerCase() === address.toLowerCase()))
        return answer(refusal(550, 'There is no such mailbox'));
      if (trouble.greylist !== undefined && trouble.greylist > 0) {
        trouble.greylist -= 1;
        return answer(refusal(450, 'Come again later'));
      }
      return answer();
    },
    onData(stream, session, answer) {
      receive(stream, session).then(
        () => answer(),
        (error: unknown) => answer(error instanceof Error ? error : new Error('unknown')),
      );
    },
  });
  // A client may disconnect in the middle of a mail.
  server.on('error', () => undefined);
  server.server.on('connection', (socket: Socket) => {
    const port = socket.remotePort ?? 0;
    sockets.set(port, socket);
    socket.once('close', () => sockets.delete(port));
  });

  /** Resolves when the mail is to be acknowledged. */
  async function receive(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
    const raw = await buffer(stream);
    if (stream.sizeExceeded) throw refusal(552, 'The mail is too large');
    if (trouble.refuseContent !== undefined && trouble.refuseContent > 0) {
      trouble.refuseContent -= 1;
      throw refusal(451, 'Not now');
    }
    await mailbox.keep(await read(raw, session));
    if (trouble.afterData === 'drop') sockets.get(session.remotePort)?.destroy();
    if (trouble.afterData !== undefined) await new Promise(() => undefined);
  }

  server.listen(settings.port ?? 0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    async close() {
      for (const socket of sockets.values()) socket.destroy();
      await new Promise<void>((resolve) => server.close(resolve));
    },
  };
}

function refusal(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

async function read(
  raw: Buffer,
  { envelope }: SMTPServerSession,
): Promise<Omit<CaughtMail, 'id' | 'received_at'>> {
  const mail = await PostalMime.parse(raw);
  const replyTo = mail.replyTo?.[0]?.address;
  const sender = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
  return {
    to: envelope.rcptTo.map(({ address }) => address).join(', '),
    from: mail.from?.address === undefined ? sender : nameAndAddress(mail.from),
    subject: mail.subject ?? '',
    text: mail.text ?? '',
    html: mail.html ?? '',
    message_id: mail.messageId ?? '',
    ...(replyTo === undefined ? {} : { reply_to: replyTo }),
  };
}

function nameAndAddress({ name, address }: { name: string; address: string }): string {
  return name === '' ? address : `${name} <${address}>`;
}
