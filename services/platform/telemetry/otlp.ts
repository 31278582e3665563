import { AsyncLocalStorage } from 'node:async_hooks';
import {
  createContextKey,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { Attributes, Context, Link, Span } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { Problem } from '#services/platform/problem.ts';
import type { Log } from '#services/platform/process/log.ts';
import { traceIdOf } from './trace-ids.ts';
import type { SpanEnd, SpanStart, Tracing } from './tracing.ts';

/**
 * Traces through the SDK of OpenTelemetry, sent by OTLP over HTTP.
 *
 * The provider and the context are kept here and not registered with the API: the SDKs of model providers
 * trace through whatever is registered there, with prompts and answers in their spans.
 */
export type OtlpOptions = {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** From 0 to 1, by trace id: all processes keep and drop the same traces. */
  share: number;
  /** Such as `api` or `worker`. */
  process: string;
  version: string;
  log: Pick<Log, 'info' | 'warn'>;
};

export function startOtlpTracing({ url, headers, share, log, ...service }: OtlpOptions): Tracing {
  const ids = createIds();
  const exporter = watched(
    new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: sentWithinMs }),
    log,
  );
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': `sevenfold-${service.process}`,
      'service.namespace': 'sevenfold',
      'service.version': service.version,
      'process.pid': process.pid,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
    idGenerator: ids,
    spanLimits: { attributeValueLengthLimit: longestAttribute },
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: sendEveryMs })],
  });
  const tracer = provider.getTracer('sevenfold', service.version);
  const present = new AsyncLocalStorage<Context>();

  /** The context around what begins now; that of a request begins its span. */
  const contextOf = (correlationId?: string): Context => {
    const context = present.getStore() ?? ROOT_CONTEXT;
    const request = context.getValue(requestKey) as PendingRequest | undefined;
    return request === undefined ? context : trace.setSpan(ROOT_CONTEXT, request(correlationId));
  };
  const start = ({ name, kind, attributes, correlationId }: SpanStart) => {
    const context = contextOf(correlationId);
    const span = ids.within(correlationId, () =>
      tracer.startSpan(name, { kind: SpanKind[kind], attributes }, context),
    );
    return { span, context: trace.setSpan(context, span) };
  };

  return {
    isOn: true,
    async inSpan(options, work) {
      const { span, context } = start(options);
      try {
        const result = await present.run(context, () => work((more) => span.setAttributes(more)));
        end(span, { error: null });
        return result;
      } catch (error) {
        end(span, endOfError(error));
        throw error;
      }
    },
    begin(options) {
      const { span } = start(options);
      return (ended) => end(span, ended);
    },
    async inRequest({ headers: asked }, work) {
      const startTime = Date.now();
      const links = linksOf(asked['traceparent']);
      let span: Span | null = null;
      const request: PendingRequest = (correlationId) =>
        (span ??= ids.within(correlationId, () =>
          tracer.startSpan('request', { kind: SpanKind.SERVER, startTime, links }, ROOT_CONTEXT),
        ));
      const { name, ...ended } = await present.run(
        ROOT_CONTEXT.setValue(requestKey, request),
        work,
      );
      end(request().updateName(name), ended);
    },
    // A collector that is unavailable was logged, and must not keep a process from ending well.
    close: async () => provider.shutdown().catch(() => undefined),
  };
}

/** Begins the span of a request in the trace of a correlation id, or returns the span. */
type PendingRequest = (correlationId?: string) => Span;

const requestKey = createContextKey('request');
const sendEveryMs = 2_000;
/** Retries included, and less than a process has to close. */
const sentWithinMs = 3_000;
const longestAttribute = 200;

function end(span: Span, { attributes = {}, error }: SpanEnd): void {
  span.setAttributes(error === null ? attributes : { ...attributes, 'error.type': error });
  if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

/** Logs when sending begins to fail and when it works again. */
function watched(exporter: SpanExporter, log: OtlpOptions['log']): SpanExporter {
  let fails = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.error !== undefined;
        if (failed && !fails) log.warn({ err: result.error }, 'Traces could not be sent');
        if (!failed && fails) log.info('Traces are sent again');
        fails = failed;
        done(result);
      });
    },
    shutdown: async () => exporter.shutdown(),
  };
}

/** A refusal is an answer and no error. Never a message, which may quote a text. */
function endOfError(error: unknown): SpanEnd {
  if (error instanceof Problem) {
    const attributes: Attributes = { 'sevenfold.refusal': error.code };
    return { attributes, error: error.status >= 500 ? error.code : null };
  }
  return { error: error instanceof Error ? error.name : typeof error };
}

/** Version 00 of W3C's `traceparent`; anything else is no trace. */
function linksOf(traceparent: string | undefined): Link[] {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '');
  if (match === null) return [];
  const [, traceId = '', spanId = '', flags = ''] = match;
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return trace.isSpanContextValid(context) ? [{ context }] : [];
}

/** Random ids, except for the trace of a span that begins within a correlation. */
function createIds() {
  const random = new RandomIdGenerator();
  let chosen: string | null = null;
  return {
    generateSpanId: () => random.generateSpanId(),
    generateTraceId: () => chosen ?? random.generateTraceId(),
    within(correlationId: string | undefined, begin: () => Span): Span {
      chosen = correlationId === undefined ? null : traceIdOf(correlationId);
      try {
        return begin();
      } finally {
        chosen = null;
      }
    },
  };
}
