import * as v from 'valibot';
import { Email } from '#services/identity/contract/forms.ts';
import { visible } from '#services/platform/contract.ts';
import type { EndpointList } from '#services/platform/contract.ts';

/** Messages of visitors and users to the operator. */
export const contactLimits = {
  message: 5_000,
  /** Days that a message is kept. */
  keptDays: 365,
} as const;

export const contactTopics = ['support', 'billing', 'privacy', 'security', 'other'] as const;
export type ContactTopic = (typeof contactTopics)[number];

const tooLong = `Enter at most ${contactLimits.message.toLocaleString('en-US')} characters`;

/** `POST /contact`. */
export const ContactRequest = v.strictObject({
  topic: v.picklist(contactTopics, 'Choose a topic'),
  message: v.pipe(
    v.string('Enter a message'),
    v.trim(),
    v.nonEmpty('Enter a message'),
    v.maxLength(contactLimits.message, tooLong),
    visible,
    v.nonEmpty('Enter a message'),
  ),
  email: Email,
  website: v.pipe(
    v.optional(v.literal('', 'Leave this field empty'), ''),
    v.description('Left empty by people, who do not see its field'),
  ),
});
export type ContactRequest = v.InferOutput<typeof ContactRequest>;

export const ContactReply = v.object({
  reference: v.pipe(v.string(), v.description('Names the message, such as `K7Q2-9M4D`')),
  emailed: v.pipe(
    v.boolean(),
    v.description(
      'Whether the reference is emailed: not without a mail server, nor to a mailbox that got many today',
    ),
  ),
});
export type ContactReply = v.InferOutput<typeof ContactReply>;

/** How to reach the operator. */
export const contactEndpoints = {
  'POST /contact': {
    summary: 'Write to the operator',
    description:
      'Stores the message and emails it to the operator. The sender gets an email with the reference. With a bearer token the message belongs to the account, and to its export and erasure.',
    access: 'visitor',
    refuses: [409],
    idempotencyKey: 'optional',
    body: ContactRequest,
    status: 201,
    reply: ContactReply,
  },
} as const satisfies EndpointList;
