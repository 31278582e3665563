import type { ReactNode } from 'react';

/**
 * The product's idea as a picture: seven strands in their roles' colours converge, and one stays
 * apart. An illustration, not a run.
 */
const strands = [
  { y: 20, end: 148, colour: 'text-strategic' },
  { y: 62, end: 151, colour: 'text-strategic' },
  { y: 104, end: 154, colour: 'text-strategic' },
  { y: 146, end: 236, colour: 'text-risk' },
  { y: 188, end: 157, colour: 'text-risk' },
  { y: 230, end: 160, colour: 'text-implementation' },
  { y: 272, end: 163, colour: 'text-implementation' },
] as const;

export function Strands(): ReactNode {
  return (
    <svg viewBox="0 0 520 292" className="w-full" fill="none" aria-hidden="true">
      {strands.map(({ y, end, colour }) => (
        <path
          key={y}
          d={`M4 ${y}C230 ${y} 250 ${end} 400 ${end}H516`}
          stroke="currentColor"
          strokeWidth="3"
          strokeLinecap="round"
          className={colour}
        />
      ))}
    </svg>
  );
}
