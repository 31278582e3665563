/** Something happened that must never happen. */
export class SimulationFault extends Error {
  override readonly name = 'SimulationFault';
}

export function requireThat(holds: boolean, what: string, details?: unknown): asserts holds {
  if (!holds)
    throw new SimulationFault(
      details === undefined ? what : `${what}: ${JSON.stringify(details, null, 1)}`,
    );
}
