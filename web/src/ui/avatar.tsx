import { CircleUserRound } from 'lucide-react';
import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

const sizes = {
  small: { box: 'size-8', px: 32, text: '' },
  large: { box: 'size-24', px: 96, text: 'text-4xl' },
} as const;

/** Always beside the name itself. */
export function Avatar({
  user,
  size = 'small',
}: {
  user: { readonly name: string; readonly avatar_url?: string | null | undefined };
  size?: keyof typeof sizes;
}): ReactNode {
  const { box, px, text } = sizes[size];
  if (user.avatar_url) {
    return (
      <img
        src={user.avatar_url}
        alt=""
        width={px}
        height={px}
        className={classNames(box, 'rounded-full')}
      />
    );
  }
  const initial = /\S/u.exec(user.name)?.[0].toLocaleUpperCase();
  return (
    <span
      aria-hidden="true"
      className={classNames(
        'grid place-items-center rounded-full bg-accent-soft font-semibold text-accent',
        box,
        text,
      )}
    >
      {initial ?? <CircleUserRound size={px * 0.625} />}
    </span>
  );
}
