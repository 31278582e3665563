import type { ReactNode } from 'react';
import * as v from 'valibot';
import { Name } from '#services/identity/contract/forms.ts';
import type { User } from '#services/identity/contract/session.ts';
import { changeAccount } from '#web/api/account.ts';
import { Button } from '#web/ui/form/button.tsx';
import { TextField } from '#web/ui/form/field.tsx';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { Section } from '#web/features/profile/section.tsx';
import { useChange } from '#web/features/profile/use-change.ts';

const NameForm = v.strictObject({ name: Name });

export function NameSection({ user }: { user: User }): ReactNode {
  const form = useChange({
    schema: NameForm,
    read: (data) => ({ name: data.get('name') ?? '' }),
    send: async (change) => {
      await changeAccount(change);
      return 'Name saved.';
    },
  });
  return (
    <Section title="Name" about="Shown in the top bar and in your dashboard greeting.">
      <form {...form.props} className="space-y-4">
        <TextField
          label="Full name"
          name="name"
          autoComplete="name"
          required
          defaultValue={user.name}
          error={form.errors['name']}
        />
        <Outcome done={form.done} failure={form.failure} title="We couldn't save your name" />
        <Button type="submit" busy={form.busy}>
          {form.busy ? 'Saving…' : 'Save name'}
        </Button>
      </form>
    </Section>
  );
}
