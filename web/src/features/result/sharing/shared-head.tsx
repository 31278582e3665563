import type { ReactNode } from 'react';
import type { SharedReply } from '#services/optimizations/contract/sharing.ts';
import { productName } from '#web/app/product.ts';
import { RunPanelNote } from '#web/run/panel-note.tsx';
import { Question } from '#web/run/question.tsx';
import { RefinementNote } from '#web/run/refinement/note.tsx';
import { SimulatedMark } from '#web/run/simulated-mark.tsx';
import { strategyName } from '#services/optimizations/reading/words/names.ts';
import { Notice } from '#web/ui/feedback/notice.tsx';
import { day } from '#web/ui/text/day.ts';

/** The question, what kind of page this is, and until when it is there. */
export function SharedHead({
  reply: {
    run: { council: view },
    shows_context: showsContext,
    expires_at: expiresAt,
    newer_shared: isNewerShared,
  },
}: {
  reply: SharedReply;
}): ReactNode {
  return (
    <header className="space-y-3">
      <p className="hidden text-sm print:block">
        {productName} · {day(view.createdAt)}
      </p>
      <Question view={view} />
      <p className="flex flex-wrap items-center gap-x-2 text-ink-2">
        <span>Shared result</span>
        <span aria-hidden="true">·</span>
        <span>{strategyName(view.strategy)} strategy</span>
        <span aria-hidden="true" className="print:hidden">
          ·
        </span>
        <time dateTime={view.createdAt} className="print:hidden">
          {day(view.createdAt)}
        </time>
      </p>
      <p className="max-w-prose text-sm text-ink-2">
        The person who asked isn't named
        {showsContext ? '' : ", and any context they gave isn't shown"}. This link expires on{' '}
        {day(expiresAt)}.
      </p>
      <RefinementNote view={view} />
      <SimulatedMark seats={view.seats} standIn={view.standIn} shared />
      <RunPanelNote view={view} />
      {isNewerShared ? (
        <Notice tone="warn" title="There is a newer result">
          This result was refined since, and the newer one is shared, too. Ask the person who sent
          you this link for the newer one.
        </Notice>
      ) : null}
    </header>
  );
}
