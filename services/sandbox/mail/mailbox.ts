import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';

/**
 * Caught mails, a file each, so that the processes that catch and show them share only the folder and
 * a restart loses none. Names sort by the time of arrival.
 */
export type CaughtMail = v.InferOutput<typeof CaughtMail>;

const CaughtMail = v.object({
  id: v.string(),
  /** The recipients of the envelope, with commas. */
  to: v.string(),
  from: v.string(),
  /** Whom an answer reaches; absent where that is the sender. */
  reply_to: v.exactOptional(v.string()),
  subject: v.string(),
  text: v.string(),
  html: v.string(),
  received_at: v.string(),
  message_id: v.string(),
});

export type Mailbox = {
  keep(mail: Omit<CaughtMail, 'id' | 'received_at'>): Promise<CaughtMail>;
  /** Newest first; with an address, those that went to exactly that one, in any case. */
  list(to?: string): Promise<CaughtMail[]>;
  find(id: string): Promise<CaughtMail | null>;
  clear(): Promise<void>;
};

const keptMails = 500;

export function createMailbox(directory: string): Mailbox {
  // A file never changes once it is there.
  const known = new Map<string, CaughtMail>();
  let arrivals = 0;

  const names = async (): Promise<string[]> => {
    try {
      const all = await readdir(directory);
      return all.filter((name) => isMail.test(name)).toSorted();
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  };

  const read = async (name: string): Promise<CaughtMail | null> => {
    const cached = known.get(name);
    if (cached) return cached;
    try {
      const text = await readFile(join(directory, name), 'utf8');
      const mail = v.parse(CaughtMail, JSON.parse(text));
      known.set(name, mail);
      return mail;
    } catch (error) {
      // It was deleted as surplus since its name was read.
      if (isMissing(error)) return null;
      throw error;
    }
  };

  return {
    async keep(mail) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const now = Date.now();
      arrivals += 1;
      const id = `${String(now).padStart(14, '0')}-${String(arrivals).padStart(6, '0')}`;
      const caught = { id, ...mail, received_at: new Date(now).toISOString() };
      // The rename is atomic: no reader sees half a file.
      const draft = join(directory, `${id}.draft`);
      await writeFile(draft, JSON.stringify(caught), { mode: 0o600 });
      await rename(draft, join(directory, `${id}.json`));
      const tooMany = (await names()).slice(0, -keptMails);
      await Promise.all(tooMany.map((name) => rm(join(directory, name), { force: true })));
      return caught;
    },

    async list(to) {
      const all = await names();
      for (const name of known.keys()) if (!all.includes(name)) known.delete(name);
      const mails = await Promise.all(all.toReversed().map(read));
      return mails
        .filter((mail) => mail !== null)
        .filter((mail) => to === undefined || wentTo(mail, to));
    },

    async find(id) {
      const name = `${id}.json`;
      return isMail.test(name) ? read(name) : null;
    },

    async clear() {
      const all = await names();
      await Promise.all(all.map((name) => rm(join(directory, name), { force: true })));
    },
  };
}

const isMail = /^\d{14}-\d{6}\.json$/;

function wentTo(mail: CaughtMail, address: string): boolean {
  const wanted = address.toLowerCase();
  return mail.to.split(', ').some((one) => one.toLowerCase() === wanted);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
