import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckoutReply } from '#services/payments/contract.ts';
import type { OptimizationSummary } from '#services/optimizations/contract/summary.ts';
import { connect } from '#tests/live/sockets.ts';
import type { Client as SocketClient } from '#tests/live/sockets.ts';
import { follow } from '#tests/processes/support/follow.ts';
import type { Follower } from '#tests/processes/support/follow.ts';
import type { CallOptions, Person } from '#tests/support/app.ts';
import { testPassword } from '#tests/support/password.ts';
import { createClient, eventually } from '#tests/support/processes/processes.ts';
import type { Client } from '#tests/support/processes/processes.ts';
import type { Stage } from './stage.ts';

export const creditsEach = 2_000;
const strategies = ['fast', 'balanced', 'economy'];
const answerMs = 15_000;
const pauseMs = 2_000;

/** Someone who asks, buys and watches over a network with faults, and repeats what was not answered. */
export type Someone = AsyncDisposable & {
  person: Person;
  runs: string[];
  /** The ids of what was paid for. */
  purchases: string[];
  follower: Follower;
  socket: SocketClient;
  /** Runs whose end arrived over the socket. */
  heardEnds(): Set<string>;
  /** One run after another, and meanwhile purchases and questions to the small model, until it is over. */
  live(isOver: () => boolean): Promise<void>;
};

export async function newcomer(stage: Stage, index: number): Promise<Someone> {
  const { network, settings, apiUrl } = stage;
  const client = createClient(network['browser to api'].through(apiUrl), settings);
  const person = await createClient(apiUrl, settings).signUp({ credits: creditsEach });
  // Receipts and notices go to confirmed addresses only.
  await stage.database.ownerPool.query(
    'update users set email_confirmed_at = now() where id = $1',
    [person.userId],
  );
  const runs: string[] = [];
  const purchases: string[] = [];
  const follower = follow({
    url: () => network['browser to api'].through(apiUrl),
    token: () => person.token,
    silenceMs: 40_000,
  });
  const socket = connect(network['socket to api'].through(apiUrl), null, {
    auth: (give) => give({ token: person.token }),
    reconnectionAttempts: Number.POSITIVE_INFINITY,
  });
  const heardEnds = () =>
    new Set(
      socket.heard
        .filter(({ event }) => event !== 'optimization-progress')
        .map(({ payload }) => String(payload['optimizationId'])),
    );
  socket.socket.on('connect', () => {
    const ends = heardEnds();
    for (const run of runs) if (!ends.has(run)) socket.socket.emit('subscribe-optimization', run);
  });
  // A token may have ended meanwhile; the calls below renew it.
  socket.socket.on('connect_error', () => {
    if (!socket.socket.active) setTimeout(() => socket.socket.connect(), pauseMs);
  });

  const insist = async (path: string, options: CallOptions) =>
    answer(client, person, path, options);

  const buy = async (number: number) => {
    const bought = await insist('/credits/purchase', {
      key: `purchase-${number}`,
      body: { package_id: 'boost-50' },
    });
    if (bought.status !== 201) throw new Error(`Buying answered ${bought.status}`);
    const { session_id: session, purchase_id: purchase } = bought.data as CheckoutReply;
    await pay(stage, session);
    purchases.push(purchase);
  };
  const check = async (number: number) => {
    // Answers for the same text are kept.
    const body = { challenge: `Rent or buy workshop ${index}-${number}?` };
    const checked = await insist('/optimizations/check', { body });
    if (checked.status !== 200) throw new Error(`Checking answered ${checked.status}`);
  };
  const run = async (number: number) => {
    const created = await insist('/optimizations', {
      key: `run-${number}`,
      body: {
        challenge: `Rent or buy workshop ${number}?`,
        strategy: strategies[(index + number) % strategies.length],
      },
    });
    const { id } = created.data as { id?: string };
    if (id === undefined) throw new Error(`Creating answered ${created.status}`);
    runs.push(id);
    socket.socket.emit('subscribe-optimization', id);
    const processed = await insist(`/optimizations/${id}/process`, { method: 'POST' });
    if (processed.status !== 202) throw new Error(`Processing answered ${processed.status}`);
    await untilEnded(client, person, id);
  };
  return {
    person,
    runs,
    purchases,
    follower,
    socket,
    heardEnds,
    async live(isOver) {
      const repeat = async (act: (number: number) => Promise<void>) => {
        for (let number = 0; !isOver(); number += 1) {
          await act(number);
          await sleep(pauseMs);
        }
      };
      await Promise.all([repeat(run), repeat(buy), repeat(check)]);
    },
    async [Symbol.asyncDispose]() {
      socket.socket.disconnect();
      await follower[Symbol.asyncDispose]();
    },
  };
}

/** Repeats a call until it is answered, as a browser does behind one click. */
async function answer(
  client: Client,
  person: Person,
  path: string,
  options: CallOptions,
): Promise<{ status: number; data: unknown }> {
  return eventually(
    `an answer to ${path}`,
    async () => {
      const response = await client.call(path, {
        ...options,
        token: person.token,
        signal: AbortSignal.timeout(answerMs),
      });
      const body = (await response.json()) as { data?: unknown; code?: string };
      if (response.status === 401) await signIn(client, person);
      const isTransient =
        response.status === 401 ||
        response.status >= 500 ||
        (response.status === 409 && body.code === 'in-progress');
      return isTransient ? null : { status: response.status, data: body.data };
    },
    300_000,
  );
}

/** A token lasts ten minutes. */
export async function signIn(client: Client, person: Person): Promise<void> {
  const { token } = await client.data<{ token: string }>('/auth/login', {
    body: { email: person.email, password: testPassword },
    signal: AbortSignal.timeout(answerMs),
  });
  person.token = token;
}

/** At the provider's page, where no fault of ours reaches. */
async function pay({ sandboxUrl }: Stage, session: string): Promise<void> {
  const response = await fetch(`${sandboxUrl}/dev/stripe/checkout/${session}/pay`, {
    method: 'POST',
    headers: { accept: 'application/json' },
  });
  if (!response.ok) throw new Error(`The page answered ${response.status}`);
  await response.body?.cancel();
}

async function untilEnded(client: Client, person: Person, runId: string): Promise<void> {
  await eventually(
    `the end of ${runId}`,
    async () => {
      await sleep(500);
      const response = await client.call('/optimizations?limit=1', {
        token: person.token,
        signal: AbortSignal.timeout(answerMs),
      });
      if (response.status === 401) await signIn(client, person);
      if (!response.ok) return false;
      const { data } = (await response.json()) as { data: OptimizationSummary[] };
      return data[0]?.id === runId && data[0].status !== 'processing';
    },
    600_000,
  );
}
