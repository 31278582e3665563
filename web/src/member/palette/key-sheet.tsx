import { Link } from '@tanstack/react-router';
import { Fragment, type ReactNode } from 'react';
import { isSingleKeys, keysHere, shortcuts } from '#web/member/keys.ts';
import { Dialog } from '#web/ui/dialog.tsx';
import { Keys } from './palette.tsx';

/** Every shortcut. */
export function KeySheet({
  singleKeys,
  onClose,
}: {
  singleKeys: boolean;
  onClose: () => void;
}): ReactNode {
  const shown = shortcuts.filter(({ keys }) => singleKeys || !isSingleKeys(keys));
  return (
    <Dialog open onClose={onClose} title="Keyboard shortcuts">
      <dl className="grid grid-cols-[auto_1fr] items-center gap-x-6 gap-y-2">
        {shown.map(({ keys, words }) => (
          <Fragment key={keys}>
            <dt>
              <Keys keys={keysHere(keys)} />
            </dt>
            <dd>{words}</dd>
          </Fragment>
        ))}
      </dl>
      <p className="text-sm text-ink-2">
        {singleKeys ? 'Single keys work outside of fields. ' : 'Single keys are off. '}
        <Link to="/profile" hash="appearance" className="link" onClick={onClose}>
          Turn them {singleKeys ? 'off' : 'on'} in Account Settings
        </Link>
      </p>
    </Dialog>
  );
}
