import { optimization } from '#services/optimizations/run/optimization.ts';
import type { OptimizationCommand } from '#services/optimizations/run/optimization.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { nextAttempt, owedSlots } from '#services/optimizations/run/owed.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import type { Decider } from '#services/platform/command.ts';
import { answers, begin, fails, usualAnswer } from '#tests/optimizations/run/run-script.ts';
import { requireThat } from '#tests/credits/ledger-oracle.ts';
import type { Step } from './step.ts';
import { freshKey } from './world.ts';
import type { Run, World } from './world.ts';
import { streamOf } from '#services/optimizations/run/events.ts';

/** What credits are used for: runs that end in every way, another service, gifts of operators. */
export const spendingSteps: readonly Step[] = [
  { name: 'start a run', weight: 11, run: async (world) => startRun(world) },
  { name: 'the council answers', weight: 6, run: async (world) => answer(world) },
  {
    name: 'a call begins',
    weight: 3,
    run: async (world) => {
      const run = pickRun(world);
      if (run === undefined) return null;
      const played = await play(world, run, (state) => {
        const [slot] = owedSlots(state);
        return slot === undefined ? [] : [begin(slot, nextAttempt(state, slot), isoNow(world))];
      });
      return played ? run.runId : null;
    },
  },
  {
    name: 'cancel a run',
    weight: 5,
    run: async (world) => {
      const run = pickRun(world);
      if (run === undefined || run.someone.hasLeft) return null;
      const path = `/optimizations/${run.runId}/cancel`;
      const { status } = await world.ask(run.someone, path, { method: 'POST' });
      requireThat([202, 409, 0].includes(status), 'A run cannot be cancelled', status);
      if (status !== 0) end(world, run);
      return `${run.someone.name} ${status}`;
    },
  },
  {
    name: 'a service consumes',
    weight: 4,
    run: async (world) => {
      const someone = world.chance.pick(world.livingPeople());
      if (someone === undefined) return null;
      const credits = world.chance.between(1, 12);
      const body = { user_id: someone.userId, credits, reason: 'A report' };
      const key = freshKey();
      const token = world.service.secret;
      const { available } = world.accountOf(someone).balance();
      const debt = world.accountOf(someone).debt();
      const response = await world.api().call('/credits/consume', { token, key, body });
      const isDead = world.api().life.isDead();
      const freezes = world.accountOf(someone).freezes();
      const expected = freezes > 0 ? 403 : debt > 0 || available < credits ? 402 : 201;
      requireThat(isDead || response.status === expected, 'Consuming was answered otherwise', {
        status: response.status,
        expected,
      });
      return `${someone.name} ${credits} ${response.status}`;
    },
  },
  {
    name: 'an operator lifts a freeze',
    weight: 1,
    run: async (world) => {
      const someone = world.chance.pick(
        world.livingPeople().filter((one) => world.accountOf(one).freezes() > 0),
      );
      if (someone === undefined) return null;
      const freezes = world.accountOf(someone).freezes();
      const { userId } = someone;
      const lifted = await world.shop.core.ledger.unfreezeSpending({
        userId,
        actor: 'operator:sim',
      });
      requireThat(lifted === freezes, 'Not every freeze is lifted', { userId, lifted });
      world.count('freezes lifted');
      return someone.name;
    },
  },
  {
    name: 'an operator gives',
    weight: 2,
    run: async (world) => {
      const someone = world.chance.pick(world.livingPeople());
      if (someone === undefined) return null;
      const source = world.chance.of(0.6) ? 'bonus' : 'other';
      const credits = world.chance.between(1, 30);
      const commandId = freshKey();
      const give = async () =>
        world.shop.core.ledger.give({
          userId: someone.userId,
          credits,
          source,
          reason: 'operator',
          actor: 'operator:simulation',
          commandId,
        });
      await give();
      // The same command again gives nothing.
      if (world.chance.of(0.3)) await give();
      return `${someone.name} ${credits} ${source}`;
    },
  },
];

const strategies = [
  { weight: 3, id: 'ultra-economy' },
  { weight: 3, id: 'fast' },
  { weight: 2, id: 'economy' },
  { weight: 5, id: 'balanced' },
  { weight: 1, id: 'premium' },
] as const;

async function startRun(world: World): Promise<string | null> {
  const someone = world.chance.pick(world.livingPeople());
  if (someone === undefined) return null;
  const strategy = world.chance.weighted(strategies).id;
  const body = { challenge: 'Rent or buy the workshop?', strategy };
  const created = await world.ask(someone, '/optimizations', { body });
  if (created.status !== 201) {
    requireThat(created.status === 0, 'A run cannot be created', created);
    return `${someone.name} died`;
  }
  const { id: runId } = created.data as { id: string };
  const account = world.accountOf(someone);
  const key = freshKey();
  const path = `/optimizations/${runId}/process`;
  const answered = await world.ask(someone, path, { method: 'POST', key });
  const { status, code } = answered;
  requireThat([202, 402, 403, 0].includes(status), 'A run cannot be started', answered);
  const debt = account.debt();
  if (status === 202) requireThat(debt === 0, 'A debtor starts a run', { runId });
  if (status !== 0)
    requireThat(
      (code === 'spending-frozen') === account.freezes() > 0,
      'A frozen account is not refused, or another one is',
      answered,
    );
  if (status === 402) requireThat((code === 'debt') === debt > 0, 'A run is refused', answered);
  if (status === 202 || status === 0) world.runs.push({ runId, someone, texts: 'real' });
  if (status === 202) world.count('runs');
  return `${someone.name} ${strategy} ${status} ${code ?? ''}`;
}

function pickRun(world: World): Run | undefined {
  return world.chance.pick(world.runs.filter(({ texts }) => texts === 'real'));
}

function end(world: World, run: Run): void {
  world.runs.splice(world.runs.indexOf(run), 1);
}

/** All that a council says, up to its end; some seats may be silent, or all of them. */
async function answer(world: World): Promise<string | null> {
  const run = pickRun(world);
  if (run === undefined) return null;
  const silent = world.chance.weighted([
    { weight: 4, share: 0 },
    { weight: 3, share: 0.3 },
    { weight: 1, share: 1 },
  ]).share;
  const now = isoNow(world);
  const played = await play(world, run, (first) => {
    const commands: OptimizationCommand[] = [];
    let state = first;
    const say = (command: OptimizationCommand) => {
      commands.push(command);
      state = optimization.decide(command, state).reduce<RunState>(optimization.evolve, state);
    };
    for (let count = 0; count < 60; count += 1) {
      const [slot] = owedSlots(state);
      if (slot === undefined) break;
      const attempt = nextAttempt(state, slot);
      say(begin(slot, attempt, now));
      const isSilent = slot.startsWith('opinion') && world.chance.of(silent);
      say(
        isSilent
          ? fails(slot, 'malformed', { attempt, now })
          : answers(slot, usualAnswer(state, slot), { attempt, now }),
      );
    }
    return commands;
  });
  if (!played) return null;
  end(world, run);
  return `${run.someone.name} ${silent === 0 ? 'all' : `without ${silent}`}`;
}

/** Several commands of a run in one append, each decided as ever. */
const inOneAppend: Decider<RunState, readonly OptimizationCommand[], OptimizationEvent> = {
  ...optimization,
  decide(commands, first) {
    let state = first;
    return commands.flatMap((command) => {
      const events = optimization.decide(command, state);
      state = events.reduce<RunState>(optimization.evolve, state);
      return events;
    });
  },
};

async function play(
  world: World,
  run: Run,
  commandsFor: (state: RunState) => OptimizationCommand[],
): Promise<boolean> {
  const { core } = world.shop;
  const { runId } = run;
  const state = await core.readState(runId);
  if (!('runDeadlineAt' in state)) {
    // It has ended, or has not begun, since a process was killed.
    if (state.stage !== 'draft') end(world, run);
    return false;
  }
  const command = commandsFor(state);
  if (command.length === 0) return false;
  await core.bus.execute(
    inOneAppend,
    {
      streamId: streamOf(runId),
      command,
      commandId: freshKey(),
      actor: 'system:worker',
      correlationId: runId,
    },
    'job',
  );
  return true;
}

function isoNow(world: World): string {
  return new Date(world.now()).toISOString();
}
