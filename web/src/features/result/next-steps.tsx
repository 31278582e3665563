import { type ReactNode, useState } from 'react';
import type { RunResult } from '#services/optimizations/contract.ts';
import { Markdown } from '#web/ui/text/markdown.tsx';
import { Cites } from './cites.tsx';
import { Section } from './section.tsx';

/** The steps in order, with boxes to tick while reading. */
export function NextSteps({ steps }: { steps: RunResult['next_steps'] }): ReactNode {
  const [done, setDone] = useState<ReadonlySet<number>>(new Set());
  if (steps.length === 0) return null;
  return (
    <Section title="Next steps">
      <ol className="space-y-2">
        {steps.map((step, index) => (
          <li key={step.text} className="flex gap-3">
            <label className="grid size-11 shrink-0 cursor-pointer place-items-center rounded-control hover:bg-sunken print:hidden">
              <input
                type="checkbox"
                checked={done.has(index)}
                onChange={(event) => setDone(toggled(done, index, event.currentTarget.checked))}
                className="size-5 accent-accent"
              />
              <span className="sr-only">Step {index + 1} done</span>
            </label>
            <div className={done.has(index) ? 'pt-2 text-ink-3 line-through' : 'pt-2'}>
              <Markdown text={step.text} />
              <Cites ids={step.claim_ids} />
            </div>
          </li>
        ))}
      </ol>
    </Section>
  );
}

function toggled(all: ReadonlySet<number>, index: number, on: boolean): ReadonlySet<number> {
  const next = new Set(all);
  if (on) next.add(index);
  else next.delete(index);
  return next;
}
