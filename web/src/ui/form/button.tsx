import { createLink } from '@tanstack/react-router';
import type { ComponentProps, ReactNode } from 'react';
import { classNames } from '#web/ui/class-names.ts';

export type ButtonTone = 'primary' | 'secondary' | 'quiet' | 'danger';

const base =
  'inline-flex min-h-11 items-center justify-center gap-2 rounded-control border px-4 py-2 text-center text-base font-medium no-underline transition-colors duration-120 ease-out disabled:cursor-not-allowed disabled:opacity-55 aria-disabled:cursor-not-allowed aria-disabled:opacity-55';

const tones: Readonly<Record<ButtonTone, string>> = {
  primary: 'border-transparent bg-accent text-on-accent hover:bg-accent-hover',
  secondary: 'border-line-strong bg-surface text-ink hover:bg-sunken',
  quiet: 'border-transparent text-ink hover:bg-sunken',
  danger: 'border-bad bg-surface text-bad hover:bg-sunken',
};

type ReadProgress = { tone?: ButtonTone | undefined; wide?: boolean | undefined };

function classesOf(
  { tone = 'secondary', wide = false }: ReadProgress,
  className: string | undefined,
): string {
  return classNames(base, tones[tone], wide && 'w-full', className);
}

export type ButtonProps = ReadProgress &
  ComponentProps<'button'> & {
    /** Marks the button busy; it keeps its width and ignores presses. */
    busy?: boolean | undefined;
  };

/** A button, with `type="button"` by default. */
export function Button({
  tone,
  wide,
  busy = false,
  className,
  disabled,
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      className={classesOf({ tone, wide }, className)}
    />
  );
}

/** A link styled as a button, to another site. */
export function OutsideButton({
  tone,
  wide,
  className,
  children,
  ...rest
}: ReadProgress & ComponentProps<'a'>): ReactNode {
  return (
    <a {...rest} className={classesOf({ tone, wide }, className)}>
      {children}
    </a>
  );
}

/** A link styled as a button, to a route of this application. */
export const LinkButton = createLink(OutsideButton);
