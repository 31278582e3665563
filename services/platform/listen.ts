import { once } from 'node:events';
import type { Server } from 'node:http';
import { SettingsError } from './env.ts';

/**
 * Opening and closing the one HTTP port, with words for what a person can mend.
 */
export type Place = { host: string; port: number };

/** Answers that are still being sent get this long before their connections are cut. */
const drainMs = 5000;

/** The address that it listens on. @throws SettingsError when the place is taken or not ours */
export async function listen(server: Server, place: Place): Promise<string> {
  try {
    server.listen(place.port, place.host);
    await once(server, 'listening');
  } catch (error) {
    throw new SettingsError([listenLine(place, error)], { cause: error });
  }
  const address = server.address();
  const port = address === null || typeof address === 'string' ? place.port : address.port;
  return `http://${place.host.includes(':') ? `[${place.host}]` : place.host}:${port}`;
}

/** Takes no new calls, lets running ones end, and cuts those that do not. */
export async function stopListening(server: Server): Promise<void> {
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), drainMs);
  await closed.promise;
  clearTimeout(timer);
}

function listenLine({ host, port }: Place, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'EADDRINUSE') return `PORT: ${port} on ${host} is taken by another program`;
  if (code === 'EACCES') return `PORT: ${port} needs more rights; choose one above 1023`;
  return `HOST: cannot listen on ${host} (${code})`;
}
