/**
 * A beat for every stream of a process from one timer. Members are spread over groups that beat one
 * after the other, so that thousands of them are not written to in one turn of the event loop.
 */
export type Pulse = {
  /** Returns how to leave. */
  join(beat: () => void): () => void;
};

/** @param everyMs between two beats of one member */
export function createPulse(everyMs: number, groups: number): Pulse {
  const members = Array.from({ length: groups }, () => new Set<() => void>());
  let turn = 0;
  let joined = 0;
  let timer: NodeJS.Timeout | null = null;

  const tick = () => {
    turn = (turn + 1) % groups;
    for (const beat of members[turn] ?? []) beat();
  };
  return {
    join(beat) {
      // The group that has just beaten: its next turn is a whole round away.
      const group = members[turn];
      group?.add(beat);
      joined += 1;
      timer ??= setInterval(tick, everyMs / groups);
      let isMember = true;
      return () => {
        if (!isMember) return;
        isMember = false;
        group?.delete(beat);
        joined -= 1;
        if (joined > 0 || timer === null) return;
        clearInterval(timer);
        timer = null;
      };
    },
  };
}
