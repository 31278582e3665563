import type { ReactNode } from 'react';
import { productName } from '#web/app/product.ts';

/** The mark and the name, which a `tight` bar only shows where it has room. */
export function Brand({ tight = false }: { tight?: boolean }): ReactNode {
  return (
    <span className="inline-flex items-center gap-2.5 text-lg font-semibold text-ink">
      <svg
        viewBox="0 0 24 24"
        width="24"
        height="24"
        fill="none"
        stroke="currentColor"
        strokeWidth="2"
        strokeLinecap="round"
        className="text-accent"
        aria-hidden="true"
      >
        <path d="M2 5c7 0 8 7 20 7M2 9.7c6 0 9 2.3 20 2.3M2 14.3c6 0 9-2.3 20-2.3M2 19c7 0 8-7 20-7" />
      </svg>
      <span className={tight ? 'max-sm:sr-only lg:max-xl:sr-only' : undefined}>{productName}</span>
    </span>
  );
}
