import type { Lines } from './lines.ts';
import type { CallLine } from './records.ts';

/**
 * What an evaluation may cost. A piece of work, an answer or a judgment, begins once the most that its
 * usual calls can cost is free, so that it is not given up half paid. Before each call the most that it
 * can cost is set aside; afterwards what it did cost is counted, or all that was set aside if no cost is
 * reported. A folder's budget holds for all its runs together.
 */
export type Budget = {
  spentMicros(): number;
  /**
   * Waits while other work holds what this one needs.
   *
   * @throws BudgetSpent when it would not fit with nothing else under way
   */
  begin(micros: number): Promise<Allowance>;
};

/** What one piece of work may spend; a repair that needs more takes it from what is free. */
export type Allowance = {
  /** @throws BudgetSpent */
  setAside(micros: number): { count(line: CallLine): void };
  /** Gives back what is left. */
  end(): void;
};

/** The next call could cost more than is left. */
export class BudgetSpent extends Error {
  override readonly name = 'BudgetSpent';
  constructor() {
    super('The next call could exceed the budget');
  }
}

/** @param limitMicros null: no limit */
export function createBudget(limitMicros: number | null, calls: Lines<CallLine>): Budget {
  let spent = calls.all().reduce((sum, { countedMicros }) => sum + countedMicros, 0);
  let aside = 0;
  let waiting: { micros: number; begin: PromiseWithResolvers<void> }[] = [];
  const isFree = (micros: number) => limitMicros === null || spent + aside + micros <= limitMicros;
  /** First come, first served, so small work cannot starve large work. */
  const wake = () => {
    for (;;) {
      const [next] = waiting;
      if (next === undefined) return;
      const fits = isFree(next.micros);
      if (!fits && aside > 0) return;
      waiting = waiting.slice(1);
      if (fits) aside += next.micros;
      if (fits) next.begin.resolve();
      else next.begin.reject(new BudgetSpent());
    }
  };
  return {
    spentMicros: () => spent,
    async begin(micros) {
      const begin = Promise.withResolvers<void>();
      waiting.push({ micros, begin });
      wake();
      await begin.promise;
      let left = micros;
      return {
        setAside(most) {
          const missing = Math.max(0, most - left);
          if (missing > 0 && !isFree(missing)) throw new BudgetSpent();
          aside += missing;
          left += missing - most;
          return {
            count(line) {
              aside -= most;
              spent += line.countedMicros;
              calls.add(line);
              wake();
            },
          };
        },
        end() {
          aside -= left;
          left = 0;
          wake();
        },
      };
    },
  };
}
