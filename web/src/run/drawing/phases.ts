/** The four phases of a run, each with what happens in it. */
export const phases = [
  {
    name: 'Parallel Generation',
    fact: "Seven to twelve models answer at the same time. None sees another's answer.",
  },
  {
    name: 'Cross-Evaluation',
    fact: "They review and rank each other's answers with the names removed. No model reviews itself.",
  },
  {
    name: 'Bias Detection',
    fact: 'We count the votes, and measure whether a reviewer is softer than the rest or favors what it read first.',
  },
  {
    name: 'Synthesis',
    fact: 'One model writes the recommendation, dissent included. Our code sends it back if it leaves out a disagreement.',
  },
] as const;
