import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import type { Seat } from '#services/optimizations/run/events.ts';
import { begin, noon, runId, sevenSeats, started } from '#tests/optimizations/run/run-script.ts';
import { launchBrowser } from '#tests/web/support/browser.ts';
import { runServer, type RunServer } from '#tests/web/support/run-server.ts';
import { storyOf } from '#tests/web/support/run-story.ts';
import { serveSite } from '#tests/web/support/site.ts';
import { percentile, printTable } from './report.ts';

/** Each of twelve seats writes this often a second. */
const eventsPerSecond = 30;
/** Milliseconds between two clicks on a card. */
const clickEveryMs = 400;

/** By how much the processor is slowed: frames a second at least, INP in milliseconds at most. */
const limits = [
  { slowed: 1, frames: 58, inp: 100, longTasks: 0, share: 20 },
  { slowed: 4, frames: 50, inp: 200, longTasks: null, share: null },
] as const;

type Figures = { frames: number; longTasks: number; share: number; inp: number };

/** The chamber while twelve seats write: the median of `rounds` beside its limits, and the range. */
export async function benchChamber({
  rounds,
  seconds,
}: {
  rounds: number;
  seconds: number;
}): Promise<void> {
  const story = storyOf(
    twelveSeats.reduce(
      (done, { seat }) => done.given(begin(`opinion.${seat}`, 1, noon)),
      started({ seats: twelveSeats }),
    ),
  );
  const [site, browser] = await Promise.all([serveSite(), launchBrowser('')]);
  const rows: string[][] = [['CPU', 'frames/s', 'long tasks', 'main thread, %', 'INP, ms']];
  try {
    for (const limit of limits) {
      const all: Figures[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const server = runServer(story, story.facts.length);
        site.answer(server.api);
        const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
        await page.goto(`${site.origin}/evolution-chamber?id=${runId}`);
        await page.getByText('Connected').waitFor();
        all.push(await measured(page, server, limit.slowed, seconds));
        await page.close();
      }
      const cell = (of: (one: Figures) => number, bound: string, holds: (v: number) => boolean) => {
        const values = all.map(of);
        const median = percentile(values, 0.5);
        const range = `${Math.min(...values).toFixed(0)}–${Math.max(...values).toFixed(0)}`;
        return `${median.toFixed(0)}${holds(median) ? '' : ' !'} (${range}; ${bound})`;
      };
      const { longTasks, share } = limit;
      rows.push([
        limit.slowed === 1 ? 'full' : `× 1/${limit.slowed}`,
        cell(
          ({ frames }) => frames,
          `≥ ${limit.frames}`,
          (value) => value >= limit.frames,
        ),
        cell(
          (one) => one.longTasks,
          longTasks === null ? 'no limit' : `≤ ${longTasks}`,
          (value) => longTasks === null || value <= longTasks,
        ),
        cell(
          (one) => one.share,
          share === null ? 'no limit' : `≤ ${share}`,
          (value) => share === null || value <= share,
        ),
        cell(
          ({ inp }) => inp,
          `≤ ${limit.inp}`,
          (value) => value <= limit.inp,
        ),
      ]);
    }
  } finally {
    await browser.close();
    await site.close();
  }
  printTable(
    `The chamber: 12 seats at ${eventsPerSecond} events a second each, median of ${rounds} (range; limit)`,
    rows,
  );
}

const twelveSeats: readonly Seat[] = [
  ...sevenSeats,
  ...(['S4', 'R3', 'R4', 'I3', 'I4'] as const).map((code, place): Seat => {
    const like = sevenSeats[place % sevenSeats.length]!;
    const role = code.startsWith('S')
      ? 'strategic'
      : code.startsWith('R')
        ? 'risk'
        : 'implementation';
    return { ...like, seat: code, role, model: `${like.model}-again` };
  }),
];

async function measured(
  page: Page,
  server: RunServer,
  slowed: number,
  seconds: number,
): Promise<Figures> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  const busySeconds = async (): Promise<number> => {
    const { metrics } = await devtools.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
  };
  const stop = write(server);
  try {
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowed });
    // The first words load what the pane needs.
    await sleep(2_000);
    await page.evaluate(watchFrames);
    const [before, begun] = [await busySeconds(), performance.now()];
    const cards = await page.locator('li h3 button').all();
    for (let click = 0; performance.now() - begun < seconds * 1_000; click += 1) {
      await cards[click % cards.length]!.click({ force: true });
      await sleep(clickEveryMs);
    }
    const elapsed = (performance.now() - begun) / 1_000;
    const busy = (await busySeconds()) - before;
    const seen = await page.evaluate(() => {
      const counted = Reflect.get(globalThis, 'seen') as Seen;
      return { ...counted, elapsedMs: performance.now() - counted.begun };
    });
    return {
      frames: (seen.frames / seen.elapsedMs) * 1_000,
      longTasks: seen.longTasks,
      share: (busy / elapsed) * 100,
      inp: seen.inp,
    };
  } finally {
    stop();
  }
}

type Seen = { frames: number; begun: number; longTasks: number; inp: number };

/** Runs in the page: counts frames and long tasks, and keeps the slowest interaction in milliseconds. */
const watchFrames = `
  globalThis.seen = { frames: 0, begun: performance.now(), longTasks: 0, inp: 0 };
  const count = () => {
    seen.frames += 1;
    requestAnimationFrame(count);
  };
  requestAnimationFrame(count);
  new PerformanceObserver((list) => {
    seen.longTasks += list.getEntries().length;
  }).observe({ type: 'longtask' });
  new PerformanceObserver((list) => {
    for (const { interactionId, duration } of list.getEntries())
      if (interactionId > 0) seen.inp = Math.max(seen.inp, duration);
  }).observe({ type: 'event', durationThreshold: 16 });
`;

/** Every seat writes a few words at a time, until it is stopped. */
function write(server: RunServer): () => void {
  const sentence = 'Raise the price for new clients first, and keep the old one for a year. ';
  const offsets = new Map(twelveSeats.map(({ seat }) => [seat, 0]));
  let next = 0;
  const begun = performance.now();
  const timer = setInterval(() => {
    const due = ((performance.now() - begun) / 1_000) * eventsPerSecond * twelveSeats.length;
    for (; next < due; next += 1) {
      const { seat } = twelveSeats[next % twelveSeats.length]!;
      const offset = offsets.get(seat) ?? 0;
      const at = offset % sentence.length;
      const text =
        at + 6 >= sentence.length ? `${sentence.slice(at)}\n\n` : sentence.slice(at, at + 6);
      offsets.set(seat, offset + text.length);
      const progress = Math.min(99, offset / 100);
      server.say({ run: runId, seat, slot: `opinion.${seat}`, attempt: 1, offset, progress, text });
    }
  }, 10);
  return () => clearInterval(timer);
}
