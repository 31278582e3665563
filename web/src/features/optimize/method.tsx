import type { ReactNode } from 'react';

const steps: readonly { title: string; text: string }[] = [
  {
    title: 'Parallel Generation',
    text: 'Seven or more models answer at the same time. None sees what the others write.',
  },
  {
    title: 'Cross-Evaluation',
    text: "Each model reviews and ranks the others' answers without knowing who wrote them.",
  },
  {
    title: 'Bias Detection',
    text: 'We measure whether a reviewer is softer than the rest or favors what it read first.',
  },
  {
    title: 'Synthesis',
    text: 'We measure agreement claim by claim. One model writes the recommendation, dissent included, and other models check it.',
  },
];

export function FourSteps(): ReactNode {
  return (
    <section aria-labelledby="steps" className="space-y-4">
      <h2 id="steps" className="text-2xl">
        What happens next
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
