import { registerHooks } from 'node:module';

/** Prints which packages of the tracing SDK the application loads, without and then with an endpoint. */
const loaded = new Set<string>();
registerHooks({
  resolve(specifier, context, next) {
    if (/^@opentelemetry\/(?!api$|semantic-conventions)/.test(specifier)) loaded.add(specifier);
    return next(specifier, context);
  },
});
await import('#services/core.ts');
await import('#services/http/open.ts');
await import('#services/telemetry/show.ts');
const { openTelemetry } = await import('#services/telemetry/open.ts');
const { readEnv } = await import('#services/platform/process/env.ts');
const { createLog } = await import('#services/platform/process/log.ts');

const log = createLog({ level: 'silent', process: 'test' });
for (const settings of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }]) {
  const resources = new AsyncDisposableStack();
  await openTelemetry('api', { env: readEnv(settings), log, resources });
  await resources.disposeAsync();
  console.log(JSON.stringify([...loaded].toSorted()));
}
process.exit(0);
