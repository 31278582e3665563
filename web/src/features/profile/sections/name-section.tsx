import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import * as v from 'valibot';
import { Profile, ProfileChange, type User } from '#services/identity/contract.ts';
import { write } from '#web/api/api.ts';
import { Button } from '#web/ui/form/button.tsx';
import { TextField } from '#web/ui/form/field.tsx';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { accountQuery } from '#web/features/profile/queries.ts';
import { Section } from '#web/features/profile/section.tsx';
import { useChange } from '#web/features/profile/use-change.ts';

const NameForm = v.strictObject({ name: v.nonOptional(ProfileChange.entries.name) });

export function NameSection({ user }: { user: User }): ReactNode {
  const client = useQueryClient();
  const form = useChange({
    schema: NameForm,
    read: (data) => ({ name: data.get('name') ?? '' }),
    send: async (change) => {
      const profile = await write('PATCH', '/users/me', change, Profile);
      client.setQueryData(accountQuery.queryKey, profile);
      return 'Your name is saved.';
    },
  });
  return (
    <Section
      title="Name"
      about="Shown in the bar at the top and in the greeting on your dashboard."
    >
      <form {...form.props} className="space-y-4">
        <TextField
          label="Full name"
          name="name"
          autoComplete="name"
          required
          defaultValue={user.name}
          error={form.errors['name']}
        />
        <Outcome done={form.done} failure={form.failure} title="Your name was not saved" />
        <Button type="submit" busy={form.busy}>
          {form.busy ? 'Saving…' : 'Save name'}
        </Button>
      </form>
    </Section>
  );
}
