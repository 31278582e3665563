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

function look(
  { tone = 'secondary', wide = false }: ReadProgress,
  className: string | undefined,
): string {
  return classNames(base, tones[tone], wide && 'w-full', className);
}

export type ButtonProps = ReadProgress &
  ComponentProps<'button'> & {
    /** Shows that the work is under way; the button keeps its width and takes no second press. */
    busy?: boolean | undefined;
  };

/** A button of the page; `type="button"` unless told otherwise. */
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
      className={look({ tone, wide }, className)}
    />
  );
}

/** A link that looks like a button, to a page of somebody else. */
export function OutsideButton({
  tone,
  wide,
  className,
  children,
  ...rest
}: ReadProgress & ComponentProps<'a'>): ReactNode {
  return (
    <a {...rest} className={look({ tone, wide }, className)}>
      {children}
    </a>
  );
}

/** A link that looks like a button, to a route of this application. */
export const LinkButton = createLink(OutsideButton);
