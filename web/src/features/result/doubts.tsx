import type { ReactNode } from 'react';
import type { BiasAnalysis, Optimization, RunResult } from '#services/optimizations/contract.ts';
import {
  campsWords,
  divergencesOf,
  minorityFlaws,
  openPoints,
  seatName,
} from '#services/optimizations/reading/result-words.ts';
import { Divergence, Objections } from '#web/run/divergence.tsx';
import { Cites } from './cites.tsx';
import { ClaimsNote, Different } from './refined.tsx';
import type { Entry } from './contents.tsx';

/** What divides the models, who disagrees with the result, and what nobody knows. */
export function doubtsOf(run: Optimization, result: RunResult, bias: BiasAnalysis): Entry[] {
  const report = bias.minority_report;
  const open = openPoints(result, bias);
  return [
    {
      id: 'divergences',
      title: 'Divergences',
      body: <Divergences run={run} bias={bias} />,
    },
    ...(report === null
      ? []
      : [
          {
            id: 'minority',
            title: 'Minority report',
            body: (
              <div className="max-w-prose space-y-3">
                <p>
                  <span className="font-semibold">{seatName(run.models, report.seat)}</span>{' '}
                  disagrees: {report.position}
                </p>
                <Objections
                  report={{ ...report, flaws: minorityFlaws(result, report) }}
                  names={run.models}
                />
              </div>
            ),
          },
        ]),
    ...(open.length === 0
      ? []
      : [
          {
            id: 'uncertain',
            title: "What's uncertain",
            body: (
              <ul className="max-w-prose list-disc space-y-1 ps-5 marker:text-ink-3">
                {open.map((text) => (
                  <li key={text}>{text}</li>
                ))}
              </ul>
            ),
          },
        ]),
  ];
}

function Divergences({ run, bias }: { run: Optimization; bias: BiasAnalysis }): ReactNode {
  return (
    <>
      <ClaimsNote view={run.council} />
      {bias.two_camps ? <p className="font-medium">{campsWords}</p> : null}
      {bias.disagreement_areas.length === 0 ? (
        <p className="text-ink-2">{"The models didn't split on anything."}</p>
      ) : (
        <ul className="grid grid-cols-1 gap-6 lg:grid-cols-2">
          {divergencesOf(bias).map((area) => (
            <li key={area.about}>
              <Divergence area={area} names={run.models} />
              <Different view={run.council} id={area.about} />
              <Cites ids={area.about === 'decision' ? [] : [area.about]} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
