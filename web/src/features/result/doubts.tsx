import type { ReactNode } from 'react';
import type { BiasAnalysis, RunResult } from '#services/optimizations/contract/result.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import { openPoints } from '#services/optimizations/reading/words/result.ts';
import {
  campsWords,
  divergencesOf,
  minorityFlaws,
  minorityTitle,
  noDivergences,
  objectionTitle,
  rejectedTitle,
  rejectedWords,
} from '#services/optimizations/reading/words/doubts.ts';
import { olderVotesWords } from '#services/optimizations/reading/words/refinement.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { Divergence, Minority, SideQuote } from '#web/run/divergence.tsx';
import { Cites } from './cites.tsx';
import { ClaimsNote, Different } from './refined.tsx';
import { type Entry, entry } from './contents.tsx';

/** What unites and divides the models, who disagrees with the result, and what nobody knows. */
export function doubtsOf(run: Optimization, result: RunResult, bias: BiasAnalysis): Entry[] {
  const report = bias.minority_report;
  const open = openPoints(result, bias);
  return [
    ...entry(
      'consensus',
      'Consensus points',
      <Consensus run={run} bias={bias} />,
      bias.consensus_points.length > 0,
    ),
    ...entry(
      'rejected',
      rejectedTitle,
      <RejectedClaims run={run} bias={bias} />,
      bias.rejected_claims.length > 0,
    ),
    ...entry('divergences', 'Divergences', <Divergences run={run} bias={bias} />),
    ...(report === null
      ? []
      : entry(
          'minority',
          minorityTitle,
          <div className="max-w-prose space-y-3">
            <Minority bias={bias} names={run.models} />
            {minorityFlaws(result, report).map((flaw) => (
              <p key={flaw.seat + flaw.text}>
                {objectionTitle(run.models, result.heading, flaw)}: {flaw.text}
              </p>
            ))}
          </div>,
        )),
    ...entry('uncertain', "What's uncertain", <Points texts={open} />, open.length > 0),
  ];
}

function Points({ texts }: { texts: readonly string[] }): ReactNode {
  return (
    <ul className="max-w-prose list-disc space-y-1 ps-5 marker:text-ink-3">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

function Consensus({ run, bias }: { run: Optimization; bias: BiasAnalysis }): ReactNode {
  return (
    <>
      <ClaimsNote view={run.council} />
      <ul className="max-w-prose list-disc space-y-2 ps-5 marker:text-ink-3">
        {bias.consensus_points.map(({ claim_id: id, text }) => (
          <li key={id}>
            {text}
            <Dated view={run.council} id={id} />
            <Cites ids={[id]} />
          </li>
        ))}
      </ul>
    </>
  );
}

function RejectedClaims({ run, bias }: { run: Optimization; bias: BiasAnalysis }): ReactNode {
  return (
    <>
      <ClaimsNote view={run.council} />
      <ul className="max-w-prose list-disc space-y-3 ps-5 marker:text-ink-3">
        {bias.rejected_claims.map((rejected) => (
          <li key={rejected.claim_id}>
            {rejected.text}
            <Dated view={run.council} id={rejected.claim_id} />
            <p className="text-sm text-ink-2">{rejectedWords(rejected)}</p>
            <p className="text-sm text-ink-2">
              <SideQuote side={rejected.against} about={rejected.claim_id} names={run.models} />
            </p>
            <Cites ids={[rejected.claim_id]} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** What the person said about a claim, and how old its votes are. */
function Dated({ view, id }: { view: RunView; id: string }): ReactNode {
  const older = olderVotesWords(view, id);
  return (
    <>
      <Different view={view} id={id} />
      {older === null ? null : <p className="text-sm text-ink-2">{older}</p>}
    </>
  );
}

function Divergences({ run, bias }: { run: Optimization; bias: BiasAnalysis }): ReactNode {
  const camps = campsWords(run.council);
  return (
    <>
      <ClaimsNote view={run.council} />
      {camps === null ? null : <p className="max-w-prose">{camps}</p>}
      {bias.disagreement_areas.length === 0 ? (
        <p className="text-ink-2">{noDivergences}</p>
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
