import type { Catalogue } from '#services/models/catalogue.ts';
import type { BeginCall } from '#services/models/transport/observed-call.ts';
import type { Metrics } from '#services/platform/telemetry/registry.ts';
import type { Tracing } from '#services/platform/telemetry/tracing.ts';

/** Labels of a call. A model outside the catalogue is `other`, and the sandbox is a provider. */
const labels = ['provider', 'model'] as const;

export type CallMetrics = ReturnType<typeof callMetrics>;

export function callMetrics(metrics: Metrics) {
  return {
    calls: metrics.counter({
      name: 'sevenfold_model_calls_total',
      help: 'Ended calls of models by provider, model and outcome: answered, or the class of the failure',
      labels: [...labels, 'outcome'],
    }),
    seconds: metrics.histogram({
      name: 'sevenfold_model_call_seconds',
      help: 'Seconds from a call to its end, by provider and model',
      labels,
      buckets: [1, 2, 5, 10, 20, 40, 80, 160, 320],
    }),
    cost: metrics.counter({
      name: 'sevenfold_model_call_cost_usd_total',
      help: 'What calls cost in US dollars, by provider and model; calls of unknown cost are left out',
      labels,
    }),
    unpriced: metrics.counter({
      name: 'sevenfold_model_calls_unpriced_total',
      help: 'Ended calls whose cost is unknown, by provider and model',
      labels,
    }),
    open: metrics.gauge({
      name: 'sevenfold_model_calls_open',
      help: 'Calls of models that are running in this process, by provider',
      labels: ['provider'],
    }),
  };
}

export function observedCalls(
  metrics: CallMetrics | null,
  tracing: Tracing,
  { modelOf }: Pick<Catalogue, 'modelOf'>,
): BeginCall {
  return (call) => {
    const provider = call.simulated ? 'sandbox' : call.provider;
    const model = modelOf(call.model) === null ? 'other' : call.model;
    metrics?.open.inc({ provider });
    const endSpan = tracing.begin({
      name: `chat ${model}`,
      kind: 'CLIENT',
      correlationId: call.runId,
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': provider,
        'gen_ai.request.model': model,
        ...(call.runId === undefined ? {} : { 'sevenfold.correlation_id': call.runId }),
      },
    });
    return ({ outcome, costMicros, durationMs }) => {
      const usd = costMicros === null ? null : costMicros / 1_000_000;
      metrics?.open.dec({ provider });
      metrics?.calls.inc({ provider, model, outcome });
      metrics?.seconds.observe({ provider, model }, durationMs / 1_000);
      if (usd === null) metrics?.unpriced.inc({ provider, model });
      else metrics?.cost.inc({ provider, model }, usd);
      endSpan({
        attributes: {
          'sevenfold.outcome': outcome,
          ...(usd === null ? {} : { 'sevenfold.cost_usd': usd }),
        },
        error: outcome === 'answered' ? null : outcome,
      });
    };
  };
}
