import type { ReactNode } from 'react';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { RunResult } from '#services/optimizations/contract/result.ts';
import { optionFacts } from '#services/optimizations/reading/words/result.ts';

/** The options that no majority decided between: beside each other, on a phone below each other. */
export function Options({
  result: { options, flaws },
  run,
}: {
  result: RunResult;
  run: Optimization;
}): ReactNode {
  return (
    <ul className="grid grid-cols-1 gap-6 sm:grid-cols-[repeat(auto-fit,minmax(17rem,1fr))]">
      {options.map((option) => (
        <li
          key={option.option_id}
          className="space-y-3 rounded-card border border-line bg-surface p-4"
        >
          <h3 className="text-lg font-semibold">{option.text}</h3>
          <dl className="space-y-3">
            {optionFacts(run.council, option, flaws).map(({ title, text }) => (
              <div key={title}>
                <dt className="text-sm text-ink-3">{title}</dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ul>
  );
}
