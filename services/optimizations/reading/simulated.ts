import type { RunView } from './view.ts';

/** How much of a run is simulated. */
export type SimulatedPart = {
  seats: number;
  simulatedSeats: number;
  standIn: RunView['standIn'];
  /** Whether others than who asked read it. */
  isShared?: boolean;
};

export function simulatedPartOf({
  seats,
  standIn,
  shared,
}: Pick<RunView, 'seats' | 'standIn' | 'shared'>): SimulatedPart {
  const simulatedSeats = seats.filter((seat) => seat.simulated).length;
  return { seats: seats.length, simulatedSeats, standIn, isShared: shared === true };
}

/** A simulated run is marked wherever it is shown, in these words; null when every seat is real. */
export function simulatedNotice({
  seats,
  simulatedSeats,
  standIn,
  isShared = false,
}: SimulatedPart): string | null {
  if (simulatedSeats === 0) return null;
  const what =
    simulatedSeats === seats ? 'Simulated.' : `Simulated (${simulatedSeats} of ${seats} models).`;
  if (standIn === null) return `${what} Example answers, no provider was called for them.`;
  return standIn.exact
    ? `${what} A prepared case answers this question.`
    : `${what} A prepared case, '${standIn.title}', stands in for ${isShared ? 'the' : 'your'} question.`;
}

/** The question whose figures a simulated run speaks of; null when it is the person's own. */
export function questionOfCase({ standIn }: Pick<SimulatedPart, 'standIn'>): string | null {
  if (standIn === null || standIn.exact) return null;
  return `${standIn.question.challenge} ${standIn.question.context}`;
}
