import { startEmbeddedPostgres } from '#db/embedded/embedded.ts';

/** A process of its own that runs the Postgres of a folder until a signal. */
const [dataDir = '', unusedMs] = process.argv.slice(2);
const server = await startEmbeddedPostgres({
  dataDir,
  log: () => undefined,
  ...(unusedMs === undefined ? {} : { limits: { unusedMs: Number(unusedMs) } }),
});
process.on('SIGTERM', () => {
  void server.stop().then(() => process.exit(0));
});
process.stdout.write(`${JSON.stringify({ port: server.port })}\n`);
setInterval(() => undefined, 60_000);
