import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { Optimization } from '#services/optimizations/contract/run.ts';
import { statementsOf } from '#services/optimizations/prompts/draft.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { occurredAt, openTexts, runEventOf } from '#services/optimizations/reading/read-run.ts';
import { fieldsOfView } from '#services/optimizations/reading/view.ts';
import { streamOf } from '#services/optimizations/run/events.ts';
import type { OptimizationEvent } from '#services/optimizations/run/events.ts';
import { claimStated, optionsOf, preparedCases } from '#services/sandbox/models/cases.ts';
import { createTestCouncil } from '#tests/support/council.ts';
import { give } from '#tests/support/processes/service.ts';
import { viewsOf } from '#web/features/example/recording.ts';
import type { Recording } from '#web/features/example/recording.ts';

/** `npm run record-example` writes the recording again. */
const file = join(import.meta.dirname, '../../web/content/example-run.json');
const caseName = 'raise-prices';
/** Five of seven for the case's first option, with an objection that the writer had to answer. */
const seed = 'example-12';

const prepared = preparedCases().find((each) => each.case === caseName);
if (prepared === undefined) throw new Error(`No case ${caseName}`);

async function record(): Promise<Recording> {
  const council = await createTestCouncil({ seed, profile: 'realistic' });
  try {
    const person = await council.signUp();
    await give(council, person.userId, 14);
    const { type, title: _, ...question } = prepared!.question;
    const run = await council.ask(person, {
      ...question,
      challenge_type: type,
      strategy: 'balanced',
    });
    const { events } = await council.core.readStream(streamOf(run.id));
    const startedAt = Date.parse(run.evolution.start_time ?? '');
    return {
      recordedAt: new Date(startedAt).toISOString(),
      standIn: run.stand_in,
      events: await Promise.all(
        events.map(async (recorded) => {
          const event = runEventOf(recorded);
          const { sealed: _sealed, userId: _userId, ...data } = recorded.data;
          return {
            afterMs: Math.max(0, Date.parse(occurredAt(recorded)) - startedAt),
            event: { ...event, data } as OptimizationEvent,
            texts: await openTexts(council.core.sealer, recorded, fieldsOfView(event)),
          };
        }),
      ),
    };
  } finally {
    await council.close();
  }
}

describe('the example run', () => {
  it.runIf(process.env['RECORD_EXAMPLE'] === 'true')('the example run is recorded', async () => {
    const { events, ...rest } = await record();
    const lines = events.map((event) => JSON.stringify(event));
    const head = JSON.stringify(rest).slice(0, -1);
    writeFileSync(file, `${head},"events":[\n${lines.join(',\n')}\n]}\n`);
  });

  const recorded = () => {
    const text = readFileSync(file, 'utf8');
    const example = JSON.parse(text) as Recording;
    return { example, views: viewsOf(example) };
  };

  it('the example run plays through the view of today, event by event, to a recommendation', () => {
    const { example, views } = recorded();
    const times = example.events.map(({ afterMs }) => afterMs);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(times.at(-1)).toBeGreaterThan(15_000);
    const now = Date.parse(example.recordedAt);
    const described = views.map((view, index) => describeRun(view, now + (times[index] ?? 0)));
    for (const each of described) v.parse(Optimization, each);
    expect(described.at(-1)?.result?.flaws.map(({ reply }) => reply)).toEqual([
      expect.stringMatching(/.{20}/),
    ]);
    expect(described.at(-1)).toMatchObject({
      status: 'completed',
      progress: 100,
      simulated_seats: 7,
      stand_in: { title: prepared.question.title, exact: true },
      result: { heading: 'recommendation', votes_for: 5, votes_total: 7, verified: 'two' },
    });
  });

  it('the example run says what its case says today', () => {
    const { views } = recorded();
    const { challenge, ledger, calls, standIn } = views.at(-1)!;
    expect([challenge, standIn?.question.context]).toEqual([
      prepared.question.challenge,
      prepared.question.context,
    ]);
    const claims = Object.values(ledger?.claims ?? {});
    expect(claims.length).toBeGreaterThan(9);
    for (const { text } of claims) expect(claimStated(prepared, text ?? '')).not.toBeNull();
    const draft = calls['draft.1']?.draft;
    const winner = optionsOf(prepared).find((each) => each.draft.decision === draft?.decision);
    expect(winner).toBeDefined();
    const known = new Set([
      winner?.fatal_flaw.text,
      winner?.fatal_flaw.answer,
      ...prepared.claims.map(({ text }) => text),
      ...(winner?.draft.sections.flatMap(({ blocks }) => blocks.map(({ text }) => text)) ?? []),
    ]);
    for (const { text } of draft?.sections.flatMap(({ blocks }) => blocks) ?? [])
      expect(known).toContain(text);
    expect(
      statementsOf(draft!)
        .map(({ text }) => text)
        .join(' '),
    ).not.toContain('…');
  });
});
