import type { ReactNode } from 'react';

const steps: readonly { title: string; text: string }[] = [
  {
    title: 'Parallel Generation',
    text: 'Seven or more models answer at the same time. None sees what another writes.',
  },
  {
    title: 'Cross-Evaluation',
    text: 'Each model reviews answers of the others without knowing whose they are, and ranks them.',
  },
  {
    title: 'Bias Detection',
    text: 'Agreement is measured claim by claim. Where models stand apart, both sides are kept.',
  },
  {
    title: 'Synthesis',
    text: 'One recommendation is written, with its dissent, and checked by other models.',
  },
];

export function FourSteps(): ReactNode {
  return (
    <section aria-labelledby="steps" className="space-y-4">
      <h2 id="steps" className="text-2xl">
        What happens then
      </h2>
      <ol className="grid grid-cols-1 gap-px overflow-hidden rounded-card border border-line bg-line sm:grid-cols-2 lg:grid-cols-4">
        {steps.map(({ title, text }, index) => (
          <li key={title} className="space-y-2 bg-surface p-4 sm:p-6">
            <h3 className="font-semibold">
              <span className="text-ink-3">{index + 1}</span> {title}
            </h3>
            <p className="text-ink-2">{text}</p>
          </li>
        ))}
      </ol>
    </section>
  );
}
