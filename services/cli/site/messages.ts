import { contactTopics } from '#services/contact/contract.ts';
import type { ContactTopic } from '#services/contact/contract.ts';
import { senderWords } from '#services/contact/emails.ts';
import { deleteMessage, findMessage, listMessages } from '#services/contact/messages.ts';
import type { ContactMessage } from '#services/contact/messages.ts';
import {
  operatorName,
  printResult,
  required,
  say,
  table,
  text,
  UsageError,
} from '#services/cli/command.ts';
import type { CliCall, CliCommand } from '#services/cli/command.ts';
import { quotedLines } from '#services/platform/mail/layout.ts';

/** Messages that one listing shows. */
const mostListed = 500;

const list: CliCommand = {
  noun: 'messages',
  verb: 'list',
  arguments: '',
  summary: `What people wrote through the contact form, newest first, ${mostListed} at most.`,
  options: { topic: { type: 'string', help: `One topic: ${contactTopics.join(', ')}` } },
  async run(call) {
    const topic = topicOf(text(call, 'topic'));
    const messages = await listMessages(call.database, { topic, limit: mostListed });
    printResult(
      call,
      messages.map(documentOf),
      table([
        ['reference', 'at', 'topic', 'from', 'account', 'begins with'],
        ...messages.map(({ reference, at, topic: about, email, account, message }) => [
          reference,
          at.toISOString(),
          about,
          email,
          account?.id ?? 'not signed in',
          beginning(message),
        ]),
      ]),
    );
    return 0;
  },
};

const read: CliCommand = {
  noun: 'messages',
  verb: 'read',
  arguments: '<reference>',
  summary: 'One message in full.',
  options: {},
  async run(call) {
    const found = await named(call);
    if (found === null) return 1;
    printResult(call, documentOf(found), [
      `${found.reference}, ${found.topic}, ${found.at.toISOString()}`,
      `From ${found.email}. ${senderWords(found.email, found.account)}`,
      '',
      ...quotedLines(found.message),
    ]);
    return 0;
  },
};

const remove: CliCommand = {
  noun: 'messages',
  verb: 'delete',
  arguments: '<reference>',
  summary: 'Deletes a message for good.',
  options: {},
  async run(call) {
    const { audit } = call.database;
    const found = await named(call);
    if (found === null) return 1;
    await deleteMessage(call.database, found.id);
    await audit({ actor: operatorName(), action: 'message.deleted', subject: found.id });
    printResult(call, { id: found.id, deleted: true }, [`${found.reference} is deleted`]);
    return 0;
  },
};

async function named(call: CliCall): Promise<ContactMessage | null> {
  const found = await findMessage(call.database, required(call, 0, 'The reference'));
  if (found === null) say('There is no message with this reference');
  return found;
}

function topicOf(given: string | undefined): ContactTopic | null {
  if (given === undefined) return null;
  const topic = contactTopics.find((known) => known === given);
  if (topic === undefined)
    throw new UsageError(`--topic must be one of: ${contactTopics.join(', ')}`);
  return topic;
}

function documentOf({ id, reference, account, topic, email, message, at }: ContactMessage) {
  return {
    id,
    reference,
    user_id: account?.id ?? null,
    account_email: account?.email ?? null,
    account_confirmed: account?.isConfirmed ?? null,
    topic,
    email,
    message,
    at: at.toISOString(),
  };
}

/** One line, because a table prints it. */
function beginning(message: string): string {
  const line = message.replaceAll(/\s+/g, ' ');
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

export const messageCommands: readonly CliCommand[] = [list, read, remove];
