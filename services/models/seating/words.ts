/** Fewer makers or different models than these on a panel, and its agreement says little. */
export const independent = { makers: 2, models: 4 } as const;

export const copiesSentence = 'Copies of one model tend to agree; agreement says little here.';
