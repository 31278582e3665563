import type { RateLimits } from '#services/platform/http/rate-limits.ts';
import { serve } from '#services/platform/http/serve.ts';
import type { ServeDependencies } from '#services/platform/http/serve.ts';
import { newId } from '#services/platform/ids.ts';
import { mailboxOf } from '#services/platform/mail/mailbox-of.ts';
import { contactEndpoints } from './contract.ts';
import { takeMessage } from './messages.ts';
import type { ContactDependencies } from './messages.ts';

export function contactRoutes(
  dependencies: ContactDependencies & ServeDependencies & { rateLimits: RateLimits },
) {
  const { rateLimits, clock } = dependencies;
  return serve(
    contactEndpoints,
    {
      'POST /contact': ({ context, userId, body }) => ({
        newResourceId: () => newId('msg', clock()),
        work: async ({ resourceId: id }) => {
          await rateLimits.takeFrom('contact', context.get('address'));
          const mailbox = mailboxOf(body.email);
          const isOver = (await rateLimits.count('contact-receipts', mailbox)) > 0;
          return takeMessage(dependencies, { id, userId, getsReceipt: !isOver }, body);
        },
      }),
    },
    dependencies,
  );
}
