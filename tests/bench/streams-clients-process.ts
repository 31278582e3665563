import { Agent, get } from 'node:http';
import { createParser } from 'eventsource-parser';
import { io } from 'socket.io-client';

/**
 * The clients of the benchmark of streams, in a process of their own. They report how long after its
 * `at` each message came; both processes read the same clock.
 */
export type Plan = {
  kind: 'sse' | 'socket.io';
  /** One connection each: what to ask for, and with which token. */
  targets: readonly { url: string; token: string }[];
};
export type Report =
  | { kind: 'open' }
  | { kind: 'delays'; delays: readonly number[]; cpuMs: number };

const delays: number[] = [];
const note = (at: string) => void delays.push(Date.now() - Date.parse(at));
const send = (report: Report) => process.send?.(report);

process.on('message', (message: Plan | 'begin' | 'end') => {
  if (message === 'begin') begin();
  else if (message === 'end') end();
  else void open(message);
});

let before = process.cpuUsage();

function begin(): void {
  delays.splice(0);
  before = process.cpuUsage();
}

function end(): void {
  const { user, system } = process.cpuUsage(before);
  send({ kind: 'delays', delays: delays.splice(0), cpuMs: (user + system) / 1000 });
}

/** So many at a time: this is no benchmark of opening. */
const atOnce = 50;

async function open({ kind, targets }: Plan): Promise<void> {
  for (let first = 0; first < targets.length; first += atOnce)
    await Promise.all(
      targets
        .slice(first, first + atOnce)
        .map(async ({ url, token }) => (kind === 'sse' ? listen(url, token) : join(url))),
    );
  send({ kind: 'open' });
}

const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });

async function listen(url: string, token: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const parser = createParser({
    onEvent({ event, data }) {
      resolve();
      if (event === 'fact') note((JSON.parse(data) as { at: string }).at);
    },
  });
  get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
    if (response.statusCode !== 200) reject(new Error(`It answered ${response.statusCode}`));
    response.setEncoding('utf8').on('data', (text: string) => parser.feed(text));
  }).on('error', reject);
  await promise;
}

async function join(url: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = io(url, { transports: ['websocket'], forceNew: true });
  socket.on('fact', ({ at }: { at: string }) => note(at));
  socket.on('connect', resolve);
  socket.on('connect_error', reject);
  await promise;
}
