import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAdvance } from '#projections/engine/advance.ts';
import { modelCosts } from '#projections/model-costs.ts';
import { createTestApp } from '#tests/support/app.ts';
import type { TestApp } from '#tests/support/app.ts';
import { appendBadCall } from '#tests/support/append.ts';
import { pretendWorker } from '#tests/walls/calls.ts';

let app: TestApp;
let bad: Awaited<ReturnType<typeof appendBadCall>>;

beforeAll(async () => {
  app = await createTestApp();
  await pretendWorker(app);
  bad = await appendBadCall(app.database);
});
afterAll(async () => app.close());

async function ready(): Promise<{ status: number; body: unknown }> {
  const response = await app.call('/ready');
  return { status: response.status, body: ((await response.json()) as { data: unknown }).data };
}

/** As if every event had been written so many seconds ago. */
async function age(seconds: number): Promise<void> {
  await app.database.ownerPool.query(
    'update emt_messages set created = now() - make_interval(secs => $1)',
    [seconds],
  );
}

const allFine = { database: 'ok', migrations: 'ok', reader: 'ok', worker: 'ok' };

test('a process stays ready while a stream is set aside, and names it without values of the event', async () => {
  const advance = createAdvance({ projection: modelCosts, pool: app.database.pool, limit: 50 });
  // A transaction that is open elsewhere hides the event for a moment.
  const afterStep = async () => {
    await advance();
    return ready();
  };
  await expect.poll(afterStep).toEqual({
    status: 200,
    body: {
      status: 'ready',
      checks: allFine,
      set_aside: {
        total: 1,
        streams: [
          {
            projection: 'model_costs',
            stream: bad.streamId,
            event: { id: bad.messageId, type: 'CallSucceeded', position: 1 },
            error: '22P02',
          },
        ],
      },
    },
  });
});

test('a read model that is late does not matter, and a live reader that is late does', async () => {
  // No worker reads the log here.
  await appendBadCall(app.database, 'optimization-opt_late');
  await age(60);
  await expect.poll(ready).toMatchObject({ status: 200, body: { checks: allFine } });

  const foreign = await app.database.ownerPool.connect();
  try {
    await foreign.query('begin');
    await foreign.query('select pg_current_xact_id()');
    await appendBadCall(app.database, 'optimization-opt_hidden');
    await age(60);
    expect(await ready()).toMatchObject({
      status: 503,
      body: { status: 'not_ready', checks: { ...allFine, reader: 'failed' } },
    });
    await foreign.query('commit');
  } finally {
    foreign.release();
  }
  await expect.poll(ready).toMatchObject({ status: 200 });
});
