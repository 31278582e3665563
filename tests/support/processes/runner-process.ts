import { createPool } from '#db/connect.ts';
import { startProjectionRunner } from '#projections/engine/run.ts';
import { testLine, testTotal } from '#tests/support/append.ts';

/** A process that runs the test projections until it is killed. Says when it has begun. */
const url = process.argv[2];
if (!url) throw new Error('A database URL is needed');
const ignore = () => undefined;
startProjectionRunner({
  pool: createPool(url, { max: 3, applicationName: 'runner process', onError: ignore }),
  url,
  projections: [testLine, testTotal],
  wake: () => ignore,
  pollMs: 1,
  ownershipMs: 10,
  limit: 50,
});
process.send?.('begun');
