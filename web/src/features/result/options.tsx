import type { ReactNode } from 'react';
import type { OptionSide, Optimization } from '#services/optimizations/contract.ts';
import { seatName, seatNames } from '#services/optimizations/reading/result-words.ts';

type Names = Optimization['models'];

/** The options that no majority decided between: beside each other, on a phone below each other. */
export function Options({
  options,
  names,
}: {
  options: readonly OptionSide[];
  names: Names;
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
            <Fact title={votes(option.voters.length)}>{seatNames(names, option.voters)}</Fact>
            {option.answer === null ? null : (
              <Fact title={`Best answer, by ${seatName(names, option.answer.seat)}`}>
                {option.answer.text}
              </Fact>
            )}
            <Fact
              title={
                option.objection === null
                  ? 'Strongest objection'
                  : `Strongest objection, by ${seatName(names, option.objection.seat)}`
              }
            >
              {option.objection?.text ?? 'No reviewer wrote one.'}
            </Fact>
            <Fact title="What would settle it">{option.settled_by ?? 'No model named a fact.'}</Fact>
          </dl>
        </li>
      ))}
    </ul>
  );
}

function votes(count: number): string {
  return count === 1 ? '1 vote' : `${count} votes`;
}

function Fact({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt className="text-sm text-ink-3">{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}
