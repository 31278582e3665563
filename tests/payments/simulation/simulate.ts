import { audit, settle } from './audit.ts';
import { booksSteps } from './books-steps.ts';
import { buyingSteps } from './buying-steps.ts';
import { Fault } from '#tests/credits/ledger-oracle.ts';
import { returningSteps } from './returning-steps.ts';
import { spendingSteps } from './spending-steps.ts';
import type { Step } from './step.ts';
import { worldSteps } from './world-steps.ts';
import { createWorld } from './world.ts';
import type { World } from './world.ts';

const allSteps: readonly Step[] = [
  ...buyingSteps,
  ...spendingSteps,
  ...returningSteps,
  ...booksSteps,
  ...worldSteps,
];

export type Simulated = { steps: number; figures: ReadonlyMap<string, number> };

/** So many people are there at any time. */
const population = 5;
const linesShown = 40;
const testFile = 'tests/payments/simulation/simulation.test.ts';

/**
 * Lives so many steps of one seed. After each of them the cheap checks, and after every hundred and at
 * the end everything settles and is audited.
 *
 * @throws Fault with the seed, what happened last, and how to live it again
 */
export async function simulate({
  seed,
  steps,
  auditEvery = 100,
}: {
  seed: number;
  steps: number;
  auditEvery?: number;
}): Promise<Simulated> {
  const world = await createWorld(seed);
  const lines: string[] = [];
  try {
    for (let count = 0; count < population; count += 1) await world.signUp();
    for (let number = 1; number <= steps; number += 1) {
      await world.pass(world.chance.between(1, 20_000));
      lines.push(`#${number} ${await takeStep(world)}`);
      await world.look();
      await world.tidy();
      world.noteFaults();
      if (number % auditEvery !== 0 && number !== steps) continue;
      lines.push('everything settles');
      await settle(world);
      await audit(world);
    }
    return { steps, figures: figuresOf(world) };
  } catch (error) {
    throw new Fault(
      [
        `Seed ${seed}, after ${lines.length} lines, at ${new Date(world.now()).toISOString()}:`,
        ...lines.slice(-linesShown),
        described(error),
        `Live it again: MONEY_SEED=${seed} MONEY_STEPS=${steps} npm test -- ${testFile}`,
      ].join('\n'),
    );
  } finally {
    await world.close();
  }
}

/** A fault is shown by its message; any other error with its stack. */
function described(error: unknown): string {
  if (error instanceof Fault) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Draws until something can happen. */
async function takeStep(world: World): Promise<string> {
  for (;;) {
    const step = world.chance.weighted(allSteps);
    const what = await step.run(world);
    if (what === null) continue;
    world.count(`step: ${step.name}`);
    return `${step.name}${what === '' ? '' : `: ${what}`}`;
  }
}

function figuresOf(world: World): ReadonlyMap<string, number> {
  const { truth, watch } = world;
  for (const [type, count] of watch.counts) world.count(`event: ${type}`, count);
  world.count('payments', truth.payments().length);
  world.count('refunds at the provider', truth.refunds().length);
  world.count('disputes at the provider', truth.disputes().length);
  world.count('people', world.people.length);
  world.count('events', world.events());
  return world.figures;
}

/** Several simulations as one report. */
export function report(all: readonly Simulated[]): string {
  const sum = new Map<string, number>();
  for (const { figures } of all)
    for (const [name, count] of figures) sum.set(name, (sum.get(name) ?? 0) + count);
  const group = (prefix: string) =>
    [...sum]
      .filter(([name]) => name.startsWith(prefix))
      .toSorted(([, left], [, right]) => right - left)
      .map(([name, count]) => `${count} ${name.slice(prefix.length)}`)
      .join(', ');
  const rest = [...sum].filter(([name]) => !/^(step|event|crash): /.test(name));
  return [
    rest.map(([name, count]) => `${count} ${name}`).join(', '),
    `steps: ${group('step: ')}`,
    `events: ${group('event: ')}`,
    `crashes: ${group('crash: ')}`,
  ].join('\n  ');
}
