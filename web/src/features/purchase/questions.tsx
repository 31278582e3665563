import { useLocation } from '@tanstack/react-router';
import { ChevronDown } from 'lucide-react';
import type { ReactNode } from 'react';
import buying from '#content/help/buying.md';
import credits from '#content/help/credits.md';
import refinement from '#content/help/refinement.md';

/** How paying works. */
export function PaymentNote({ isLocal }: { isLocal: boolean }): ReactNode {
  return (
    <section aria-labelledby="paying" className="max-w-prose space-y-3">
      <h2 id="paying" className="text-2xl">
        Paying
      </h2>
      <ul className="list-disc space-y-2 ps-5 text-ink-2">
        <li>You pay on our payment provider's secure page. We never see your card number.</li>
        <li>
          Credits arrive as soon as the payment is confirmed. With most cards, that's right away.
        </li>
        <li>
          The credits page links to your receipt. We also email you one if your address is confirmed
          and this site has a mail server.
        </li>
        {isLocal ? (
          <li>
            This server runs in local mode. Unless a payment provider key is set, checkout is a
            stand-in and no money moves.
          </li>
        ) : null}
      </ul>
    </section>
  );
}

/** What the page answers, each from the topics of the help pages. Other pages link to the anchors. */
const asked: readonly (readonly [anchor: string, title: string])[] = [
  ['faq-credit', 'What is a credit?'],
  ['faq-expiry', 'Do credits expire?'],
  ['faq-failed-runs', 'What happens when a run fails?'],
  ['faq-undecided', "Do I pay for a run that doesn't decide?"],
  ['faq-refinements', 'What does a refinement cost?'],
  ['faq-refunds', 'Can I get a refund?'],
  ['faq-plan', 'How does a monthly plan work?'],
  ['faq-limit', 'What does the monthly limit block?'],
  ['faq-taxes', 'Are taxes included?'],
  ['faq-receipts', 'Where are my receipts?'],
];

const known = [...credits.questions, ...refinement.questions, ...buying.questions];

function answerTo(asks: string): string {
  const found = known.find(({ title }) => title === asks);
  if (!found) throw new Error(`No topic of the help pages answers: ${asks}`);
  return found.html;
}

/** The rules as questions with answers that open. */
export function Questions(): ReactNode {
  return (
    <section aria-labelledby="questions" className="max-w-prose space-y-4">
      <h2 id="questions" className="text-2xl">
        Questions
      </h2>
      <div className="divide-y divide-line border-y border-line">
        {asked.map(([anchor, title]) => (
          <Question key={anchor} id={anchor} asks={title} html={answerTo(title)} />
        ))}
      </div>
    </section>
  );
}

function Question({ id, asks, html }: { id: string; asks: string; html: string }): ReactNode {
  const isAsked = useLocation({ select: ({ hash }) => hash === id });
  return (
    <details id={id} open={isAsked} className="group scroll-my-24 py-1">
      <summary className="flex min-h-11 cursor-pointer items-center justify-between gap-4 font-medium">
        {asks}
        <ChevronDown
          size={20}
          aria-hidden="true"
          className="shrink-0 text-ink-3 group-open:rotate-180"
        />
      </summary>
      <div className="prose pb-3" dangerouslySetInnerHTML={{ __html: html }} />
    </details>
  );
}
