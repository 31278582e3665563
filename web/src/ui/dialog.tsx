import { type ReactNode, useEffect, useId, useRef } from 'react';
import { DismissButton } from './feedback/notice.tsx';

/**
 * A modal on the browser's own `<dialog>`, which traps and returns the focus and closes on Esc.
 * Give the safest action `autoFocus`. `sheet` docks it to the bottom edge, for phone menus.
 */
export function Dialog({
  open,
  onClose,
  title,
  children,
  actions,
  sheet = false,
  wide = false,
}: {
  open: boolean;
  /** Called for Esc, the close button and, where supported, a press outside the dialog. */
  onClose: () => void;
  title: string;
  children: ReactNode;
  actions?: ReactNode;
  sheet?: boolean;
  /** For tables and whole answers; full screen on phones. */
  wide?: boolean;
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const element = dialog.current;
    if (open && !element?.open) element?.showModal();
    if (!open && element?.open) element.close();
  }, [open]);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={open ? titleId : undefined}
      // React, unlike the browser, passes on the event of a dialog inside this one. The event comes late: the
      // dialog may have been opened again.
      onClose={({ target, currentTarget }) => {
        if (target === currentTarget && !currentTarget.open) onClose();
      }}
      closedby="any"
      className={
        sheet
          ? 'mx-0 mt-auto mb-0 w-full max-w-none rounded-t-card border-t border-line bg-surface text-ink shadow-float'
          : wide
            ? 'm-auto size-full max-h-none max-w-none bg-surface text-ink sm:h-fit sm:max-h-[calc(100%-4rem)] sm:w-[calc(100%-4rem)] sm:max-w-page sm:rounded-card sm:border sm:border-line sm:shadow-float'
            : 'm-auto w-[calc(100%-2rem)] max-w-form rounded-card border border-line bg-surface text-ink shadow-float'
      }
    >
      {open ? (
        <div className="space-y-4 p-4 pb-[max(1rem,env(safe-area-inset-bottom))] sm:p-6">
          <div className="flex items-start justify-between gap-4">
            <h2 id={titleId} className="text-2xl">
              {title}
            </h2>
            <DismissButton onDismiss={() => dialog.current?.close()} />
          </div>
          {children}
          {actions === undefined ? null : (
            <div className="flex flex-wrap justify-end gap-3 pt-2">{actions}</div>
          )}
        </div>
      ) : null}
    </dialog>
  );
}
