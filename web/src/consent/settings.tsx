import { type ReactNode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { analyticsUrl } from '#web/app/product.ts';
import { Dialog } from '#web/ui/dialog.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { Checkbox } from '#web/ui/form/field.tsx';
import { acceptAll, refuseAll, saveChoice } from './choose.ts';
import { type Allowed, allowed, refusesTracking } from './consent.ts';

let isOpen = false;

/** A tree of its own: every page can open it, and none needs it at first. */
export function showSettings(): void {
  if (isOpen) return;
  isOpen = true;
  const place = document.body.appendChild(document.createElement('div'));
  const root = createRoot(place);
  const close = (): void => {
    isOpen = false;
    root.unmount();
    place.remove();
  };
  root.render(<ConsentSettings onClose={close} />);
}

/** Every purpose with a switch of its own. Refusing everything takes one press, as accepting does. */
function ConsentSettings({ onClose }: { onClose: () => void }): ReactNode {
  const [choice, setChoice] = useState<Allowed>(allowed);
  const change = (purpose: keyof Allowed) => (checked: boolean) =>
    setChoice({ ...choice, [purpose]: checked });
  const end = (save: () => void) => () => {
    save();
    onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Cookie Settings"
      actions={
        <>
          <Button onClick={end(acceptAll)}>Accept all</Button>
          <Button onClick={end(refuseAll)}>Refuse all</Button>
          <Button tone="primary" onClick={end(() => saveChoice(choice))}>
            Save choice
          </Button>
        </>
      }
    >
      <Purpose
        label="Necessary"
        hint="Keeps you signed in, protects your account, and remembers this choice and your theme."
        checked
        disabled
      />
      <Purpose
        label="Functional"
        hint="Keeps drafts and views on this device. Without it, drafts last until you close the page."
        checked={choice.functional}
        onChange={change('functional')}
      />
      {analyticsUrl === undefined ? null : (
        <Purpose
          label="Analytics"
          hint={`A script from ${new URL(analyticsUrl).host} measures visits.${
            refusesTracking()
              ? ' Your browser sends Global Privacy Control, so this stays off.'
              : ''
          }`}
          checked={choice.analytics && !refusesTracking()}
          disabled={refusesTracking()}
          onChange={change('analytics')}
        />
      )}
      <p>
        <span className="font-medium">Marketing:</span> we send no marketing emails and show no ads,
        so there is nothing to allow.
      </p>
      <p>
        <a href="/cookies" className="link">
          Every cookie and key we keep
        </a>
      </p>
    </Dialog>
  );
}

function Purpose({
  label,
  hint,
  checked,
  disabled = false,
  onChange,
}: {
  label: string;
  hint: string;
  checked: boolean;
  disabled?: boolean;
  onChange?: (checked: boolean) => void;
}): ReactNode {
  return (
    <Checkbox
      label={label}
      name={label.toLowerCase()}
      hint={hint}
      checked={checked}
      disabled={disabled}
      onChange={({ target }) => onChange?.(target.checked)}
    />
  );
}
