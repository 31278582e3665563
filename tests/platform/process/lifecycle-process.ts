import { setTimeout as sleep } from 'node:timers/promises';
import { runProcess } from '#services/platform/process/lifecycle.ts';

/** A process that takes a moment to open, and says what it does. Its supervisor may be gone by then. */
await runProcess('test', async ({ resources }) => {
  resources.defer(async () => console.log('first closed'));
  console.log('opening');
  await sleep(500);
  resources.defer(async () => console.log('second closed'));
  if (process.connected) process.disconnect();
  return {};
});
