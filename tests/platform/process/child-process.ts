import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { ReadyMessage } from '#services/platform/process/lifecycle.ts';

/**
 * A child for the supervisor's tests. It appends what happens to it to the file `events` of FOLDER and
 * does what BEHAVIOUR says, or what the file named after it says once that is there.
 */
const folder = process.env['FOLDER'] ?? '';
const name = process.env['NAME'] ?? 'child';
const behaviour = process.env['BEHAVIOUR'] ?? 'works';

function note(event: string): void {
  appendFileSync(join(folder, 'events'), `${name} ${event}\n`);
}

function ready(details: ReadyMessage['details'] = {}): void {
  const message: ReadyMessage = { type: 'ready', details };
  process.send?.(message);
}

// Before the line is printed: its reader may end this process the next moment and asks for its pid.
writeFileSync(join(folder, `${name}.pid`), String(process.pid));
note('starts');
process.on('SIGTERM', () => {
  note('stops');
  if (behaviour !== 'ignores SIGTERM') process.exit(0);
});
process.on('disconnect', () => {
  note('was left alone');
  process.exit(0);
});
setInterval(() => undefined, 60_000);

switch (behaviour) {
  case 'dies':
    process.exit(1);
    break;
  case 'dies once':
    if (existsSync(join(folder, `${name} died`))) ready();
    else {
      writeFileSync(join(folder, `${name} died`), '');
      process.exit(1);
    }
    break;
  case 'has a wrong setting':
    console.error('THING must be set');
    process.exit(2);
    break;
  case 'reports its threads':
    ready({ threads: process.env['UV_THREADPOOL_SIZE'] ?? null });
    break;
  case 'prints':
    console.log(`${name} prints`);
    ready();
    break;
  case 'never gets ready':
    break;
  case 'listens': {
    const server = createServer((_request, response) => response.end(String(process.pid)));
    server.listen(Number(process.env['PORT']), '127.0.0.1', () => ready({ pid: process.pid }));
    break;
  }
  default:
    ready({ pid: process.pid });
}
