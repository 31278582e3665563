import { useQueryClient } from '@tanstack/react-query';
import { type ChangeEvent, type ReactNode, useRef, useState } from 'react';
import { DeletedReply, Profile } from '#services/identity/contract.ts';
import type { User } from '#services/identity/contract/session.ts';
import { upload } from '#web/api/files.ts';
import { write } from '#web/api/api.ts';
import { Avatar } from '#web/ui/avatar.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { accountQuery } from '#web/api/account.ts';
import { Section } from '#web/features/profile/section.tsx';
import { useAction } from '#web/features/profile/use-action.ts';
import { UnusablePicture } from './unusable-picture.ts';

type Chosen = { readonly picture: Blob; readonly address: string };

export function PictureSection({ user }: { user: User }): ReactNode {
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const { run, busy, done, failure } = useAction();

  const choose = (event: ChangeEvent<HTMLInputElement>): void => {
    const [file] = event.target.files ?? [];
    if (!file) return;
    run(async () => {
      setChosen(null);
      const { dataAddress, squarePicture } = await import('./picture.ts');
      const picture = await squarePicture(file);
      setChosen({ picture, address: await dataAddress(picture) });
      return null;
    });
  };
  const forgetChoice = (): void => {
    setChosen(null);
    // The same file may be chosen again.
    if (input.current) input.current.value = '';
  };
  const save = ({ picture }: Chosen): void =>
    run(async () => {
      const profile = await upload('PUT', '/users/me/avatar', picture, Profile);
      client.setQueryData(accountQuery.queryKey, profile);
      forgetChoice();
      return 'Picture saved.';
    });
  const remove = (): void =>
    run(async () => {
      await write('DELETE', '/users/me/avatar', {}, DeletedReply);
      forgetChoice();
      await client.invalidateQueries({ queryKey: accountQuery.queryKey });
      return 'Picture removed.';
    });

  return (
    <Section
      title="Picture"
      about="We crop your picture to a square and shrink it on this device. Camera data, such as location, isn't sent."
    >
      <div className="flex flex-wrap items-center gap-5">
        {chosen ? (
          <img
            src={chosen.address}
            alt="Preview of how you'll appear"
            width={96}
            height={96}
            className="size-24 rounded-card"
          />
        ) : (
          <Avatar user={user} size="large" />
        )}
        <div className="flex flex-wrap gap-3">
          {chosen ? (
            <>
              <Button tone="primary" onClick={() => save(chosen)} busy={busy}>
                {busy ? 'Saving…' : 'Save picture'}
              </Button>
              <Button onClick={forgetChoice} disabled={busy}>
                Cancel
              </Button>
            </>
          ) : (
            <>
              <Button onClick={() => input.current?.click()} busy={busy}>
                Choose a picture
              </Button>
              {user.avatar_url ? (
                <Button onClick={remove} busy={busy}>
                  Remove picture
                </Button>
              ) : null}
            </>
          )}
        </div>
        <input
          ref={input}
          type="file"
          accept="image/*"
          hidden
          aria-label="Picture file"
          onChange={choose}
        />
      </div>
      {failure instanceof UnusablePicture ? (
        <p role="alert" className="text-sm text-bad">
          {failure.message}
        </p>
      ) : (
        <Outcome done={done} failure={failure} title="We couldn't save your picture" />
      )}
    </Section>
  );
}
