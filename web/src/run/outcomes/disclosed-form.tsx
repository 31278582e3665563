import { type ComponentProps, type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from '#web/ui/form/button.tsx';
import { OutcomeForm } from './form.tsx';

/** A button in whose place the form opens; closing it brings the focus back. */
export function DisclosedForm({
  label,
  about,
  beside = null,
  ...form
}: {
  label: string;
  /** Follows the label for assistive technology, which may not know where the button stands. */
  about: string;
  /** Beside the button. */
  beside?: ReactNode;
} & Omit<ComponentProps<typeof OutcomeForm>, 'takesFocus' | 'onClose'>): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const wasClosed = useRef(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isOpen || !wasClosed.current) return;
    wasClosed.current = false;
    button.current?.focus();
  }, [isOpen]);
  if (isOpen)
    return (
      <OutcomeForm
        {...form}
        takesFocus
        onSaved={() => {
          setOpen(false);
          form.onSaved();
        }}
        onClose={() => {
          wasClosed.current = true;
          setOpen(false);
        }}
      />
    );
  return (
    <div className="flex flex-wrap gap-3">
      <Button ref={button} onClick={() => setOpen(true)} aria-label={`${label}: ${about}`}>
        {label}
      </Button>
      {beside}
    </div>
  );
}
