import type { Attributes, SpanKind } from '@opentelemetry/api';

/**
 * Spans of this process. Only `otlp.ts` loads the SDK, and only where traces are sent.
 *
 * Attributes hold ids of ours, names of models, routes and counts: never people's text, an address or a
 * token.
 */
export type Tracing = {
  /** Whether spans are made. */
  readonly isOn: boolean;
  /** Runs work within a span. What the work begins belongs to it. */
  inSpan<Result>(
    span: SpanStart,
    work: (set: (attributes: Attributes) => void) => Promise<Result>,
  ): Promise<Result>;
  /** Begins a span beneath the present one; call the result once, at its end. */
  begin(span: SpanStart): (end: SpanEnd) => void;
  /**
   * Runs a request. Its span joins the trace of the first command that it issues, or a new one. The caller's
   * own trace is linked: a stranger must not choose ours.
   */
  inRequest(request: RequestStart, work: () => Promise<RequestEnd>): Promise<void>;
  /** Sends what is left. */
  close(): Promise<void>;
};

export type SpanStart = {
  name: string;
  kind: keyof typeof SpanKind;
  attributes: Attributes;
  /** Decides the trace of a span without a parent. */
  correlationId?: string | undefined;
};

/** `error` is a code, such as a problem's or a failure's; null when all went well. */
export type SpanEnd = { attributes?: Attributes; error: string | null };

export type RequestStart = { headers: Readonly<Record<string, string | undefined>> };
export type RequestEnd = SpanEnd & { name: string };

export const noTracing: Tracing = {
  isOn: false,
  inSpan: async (_span, work) => work(() => undefined),
  begin: () => () => undefined,
  inRequest: async (_request, work) => void (await work()),
  close: async () => undefined,
};
