import type { ReactNode } from 'react';
import { opinionOf } from '#services/optimizations/reading/texts.ts';
import { type RunView } from '#services/optimizations/reading/view.ts';
import { Markdown } from '#web/ui/text/markdown.tsx';

type Heading = 'h3' | 'h4';
type Opinion = NonNullable<ReturnType<typeof opinionOf>>;

/**
 * One model's finished answer, parsed here for the first time. `heading` is one level below its
 * parent.
 */
export function Answer({
  view,
  seat,
  heading,
}: {
  view: RunView;
  seat: string;
  heading: Heading;
}): ReactNode {
  const opinion = opinionOf(view, seat);
  if (!opinion) return null;
  return (
    <div className="space-y-4">
      <div>
        <p className="text-lg font-medium">{opinion.recommendation.one_line}</p>
        <p className="text-sm text-ink-2">
          {opinion.recommendation.option_label} · {opinion.stated_confidence}% sure, by its own
          estimate
        </p>
      </div>
      {opinion.reasoning.map((reason) => (
        <Markdown key={reason} text={reason} />
      ))}
      <Claims opinion={opinion} heading={heading} />
      <Items heading={heading} title="Assumptions" items={opinion.assumptions} />
      <Items heading={heading} title="Risks" items={opinion.risks} />
      <Items heading={heading} title="Missing information" items={opinion.missing_info} />
    </div>
  );
}

const importanceWords = { 1: 'minor', 2: 'matters', 3: 'decisive' } as const;

function Claims({ opinion, heading: Title }: { opinion: Opinion; heading: Heading }): ReactNode {
  return (
    <section className="space-y-1">
      <Title className="font-semibold">Claims</Title>
      <ul className="list-disc space-y-1 ps-5 marker:text-ink-3">
        {opinion.claims.map((claim) => (
          <li key={claim.text}>
            {claim.text}{' '}
            <span className="text-sm text-ink-2">
              ({importanceWords[claim.importance]}
              {claim.if_false_flips ? '; if this is wrong, the advice changes' : ''})
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Items({
  title,
  items,
  heading: Title,
}: {
  title: string;
  items: readonly string[];
  heading: Heading;
}): ReactNode {
  if (items.length === 0) return null;
  return (
    <section className="space-y-1">
      <Title className="font-semibold">{title}</Title>
      <ul className="list-disc space-y-1 ps-5 marker:text-ink-3">
        {items.map((item) => (
          <li key={item}>{item}</li>
        ))}
      </ul>
    </section>
  );
}
