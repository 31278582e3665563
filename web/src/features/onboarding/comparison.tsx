import type { ReactNode } from 'react';
import type { Challenge } from '#services/onboarding/challenge-list.ts';
import { counted, workdayMinutes } from '#services/platform/numbers.ts';
import { Card } from '#web/ui/card.tsx';
import { sampleMinutes } from './demonstration/sample.ts';
import { minutesInWords, speedWords } from './words.ts';

export type Measured =
  | { readonly kind: 'none' }
  | { readonly kind: 'sample' }
  | { readonly kind: 'run'; readonly minutes: number; readonly isSimulated: boolean };

type Row = { name: string; time: string; basis: string; minutes: number };

/** The time by hand, the time with a run, and the time of the run that was seen. */
export function Comparison({
  challenge,
  measured,
}: {
  challenge: Challenge;
  measured: Measured;
}): ReactNode {
  const rows = rowsOf(challenge, measured);
  const longest = Math.max(...rows.map(({ minutes }) => minutes));
  const minutes =
    measured.kind === 'run' ? measured.minutes : measured.kind === 'sample' ? sampleMinutes : null;
  return (
    <Card aria-labelledby="comparison" className="space-y-4">
      <h3 id="comparison" className="text-2xl">
        {challenge.title}
      </h3>
      <dl className="divide-y divide-line">
        {rows.map(({ name, time, basis, minutes: length }) => (
          <div key={name} className="grid grid-cols-1 gap-x-6 gap-y-1 py-3 sm:grid-cols-[1fr_2fr]">
            <dt className="font-medium">
              {name}
              <span className="block text-sm font-normal text-ink-3">{basis}</span>
            </dt>
            <dd className="space-y-2">
              <span className="block">{time}</span>
              <Bar share={length / longest} />
            </dd>
          </div>
        ))}
      </dl>
      <p>
        <span className="font-medium">Speed multiple{basisOf(measured)}: </span>
        {speedWords(minutes)}.
      </p>
      <p className="text-sm text-ink-2">
        It compares a working day of {workdayMinutes} minutes with the run alone. Preparing the
        facts and checking the answer take your time, which the estimates above include.
      </p>
    </Card>
  );
}

/** What the multiple is no measurement of. */
function basisOf(measured: Measured): string {
  if (measured.kind !== 'run') return ' (sample)';
  return measured.isSimulated ? ' (simulated models)' : '';
}

function rowsOf(challenge: Challenge, measured: Measured): Row[] {
  const { normalTime: normal, eliteTime: elite } = challenge;
  const estimate = 'Our estimate for this challenge';
  return [
    { name: 'By hand', time: counted(normal, 'hour'), basis: estimate, minutes: normal * 60 },
    { name: 'With a run', time: counted(elite, 'hour'), basis: estimate, minutes: elite * 60 },
    ...(measured.kind === 'run'
      ? [
          {
            name: 'Your run',
            time: minutesInWords(measured.minutes),
            basis: measured.isSimulated
              ? 'Measured, the run alone, with simulated models'
              : 'Measured, the run alone',
            minutes: measured.minutes,
          },
        ]
      : []),
    ...(measured.kind === 'sample'
      ? [
          {
            name: 'Sample run',
            time: minutesInWords(sampleMinutes),
            basis: 'Sample data, not measured',
            minutes: sampleMinutes,
          },
        ]
      : []),
  ];
}

/** As long as its share; the figure stands beside it. */
function Bar({ share }: { share: number }): ReactNode {
  return (
    <svg
      viewBox="0 0 100 4"
      preserveAspectRatio="none"
      aria-hidden="true"
      className="block h-3 w-full rounded-full bg-sunken text-accent"
    >
      <rect width={Math.max(0.6, share * 100)} height="4" fill="currentColor" />
    </svg>
  );
}
