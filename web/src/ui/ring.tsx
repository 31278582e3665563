import type { ReactNode } from 'react';

/** The bands of an agreement score and their words. */
export type Band = 'strong' | 'majority' | 'contested' | 'split';

export function agreementBand(score: number): Band {
  if (score >= 80) return 'strong';
  if (score >= 60) return 'majority';
  if (score >= 40) return 'contested';
  return 'split';
}

const colours: Readonly<Record<Band, string>> = {
  strong: 'text-ok',
  majority: 'text-warn',
  contested: 'text-bad',
  split: 'text-bad',
};

const radius = 42;
const circumference = 2 * Math.PI * radius;

/**
 * The agreement of the models, 0 to 100, as a ring with its figure and word. Without a score the
 * ring is empty and says why.
 */
export function Ring({
  score,
  note,
}: {
  score: number | null;
  /** Explains a cap or a missing part of the score. */
  note?: string;
}): ReactNode {
  const band = score === null ? null : agreementBand(score);
  const spoken = band === null ? 'No agreement score' : `Agreement ${score} of 100, ${band}`;
  return (
    <figure className="flex flex-col items-center gap-2 text-center">
      <svg viewBox="0 0 100 100" width="136" height="136" role="img" aria-label={spoken}>
        <circle
          cx="50"
          cy="50"
          r={radius}
          fill="none"
          strokeWidth="7"
          className="stroke-line"
          strokeDasharray={score === null ? '2 6' : undefined}
        />
        {score === null || band === null ? null : (
          <circle
            cx="50"
            cy="50"
            r={radius}
            fill="none"
            stroke="currentColor"
            strokeWidth="7"
            strokeLinecap={score > 0 ? 'round' : 'butt'}
            strokeDasharray={`${(score / 100) * circumference} ${circumference}`}
            transform="rotate(-90 50 50)"
            className={colours[band]}
          />
        )}
        <text
          x="50"
          y="50"
          dominantBaseline="central"
          textAnchor="middle"
          fontSize="24"
          fontWeight="600"
          fill="currentColor"
        >
          {score ?? '--'}
        </text>
      </svg>
      <figcaption className="space-y-1">
        <p className="font-semibold">{band ?? note ?? 'No score: too few models answered'}</p>
        {note && band !== null ? <p className="text-sm text-ink-2">{note}</p> : null}
        <p className="text-sm text-ink-3">Agreement is not correctness.</p>
      </figcaption>
    </figure>
  );
}
