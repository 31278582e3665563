import { join } from 'node:path';
import { nextStopRequest } from '#services/platform/process/lifecycle.ts';
import { createLog } from '#services/platform/process/log.ts';
import { createSupervisor, processService } from '#services/platform/process/supervise.ts';

/** A supervisor in a process of its own, with two children, for the tests that kill it. */
const folder = process.env['FOLDER'] ?? '';
const stopRequested = nextStopRequest();
const supervisor = createSupervisor(createLog({ level: 'silent', process: 'test' }));

for (const name of ['first', 'second']) {
  await supervisor.start(
    processService({
      name,
      file: join(import.meta.dirname, 'child-process.ts'),
      variables: {
        FOLDER: folder,
        NAME: name,
        BEHAVIOUR: process.env['BEHAVIOUR'] ?? 'works',
      },
      printsToStderr: true,
    }),
  );
}
console.log('ready');
await stopRequested;
await supervisor.stop();
process.exit(0);
