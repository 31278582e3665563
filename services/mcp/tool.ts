import { toJsonSchema } from '@valibot/to-json-schema';
import type {
  CallToolResult,
  McpServer,
  ServerContext,
  StandardSchemaWithJSON,
  ToolAnnotations,
} from '@modelcontextprotocol/server';
import type * as v from 'valibot';
import type { KeyScope } from '#services/platform/contract.ts';
import { Problem } from '#services/platform/problem.ts';
import type { Log } from '#services/platform/process/log.ts';
import type { McpActions } from './actions.ts';
import { toolError } from './tool-error.ts';

export type ToolCall = {
  actions: McpActions;
  /** Aborts when the client cancels the call or disconnects. */
  signal: AbortSignal;
  /** Reports to a client that asked for reports; a lower percentage than before is dropped. */
  progress: (percent: number, message: string) => Promise<void>;
};

type Tool<Input extends v.GenericSchema, Output extends v.GenericSchema> = {
  name: string;
  title: string;
  /** For the model that decides whether to call it. */
  description(actions: McpActions): string;
  /** Null: a key of any scope. */
  scope: KeyScope | null;
  input: Input;
  output: Output;
  call(
    input: v.InferOutput<Input>,
    call: ToolCall,
  ): Promise<{
    structured: v.InferInput<Output> & Record<string, unknown>;
    /** What a client shows that reads no structured content; its JSON when absent. */
    text?: string;
  }>;
};

export type RegisterTool = (server: McpServer, actions: McpActions, log: Log) => void;

const reads: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
/** Starts a run, which asks models elsewhere and costs credits. */
const starts: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: false,
  openWorldHint: true,
};

export function defineTool<Input extends v.GenericSchema, Output extends v.GenericSchema>(
  tool: Tool<Input, Output>,
): RegisterTool {
  const { name, title, scope } = tool;
  const annotations = scope === 'run' ? starts : reads;
  const rights = scope === null ? '' : ` Needs the scope ${scope}.`;
  const inputSchema = standard(tool.input);
  const outputSchema = standard(tool.output);
  return (server, actions, log) => {
    const description = `${tool.description(actions)}${rights}`;
    const work = async (input: v.InferOutput<Input>, context: ServerContext) => {
      if (scope !== null) actions.requireScope(scope);
      const call = { actions, signal: context.mcpReq.signal, progress: progressOf(context) };
      const { structured, text } = await tool.call(input, call);
      return {
        content: [{ type: 'text' as const, text: text ?? JSON.stringify(structured) }],
        structuredContent: structured,
      };
    };
    server.registerTool(
      name,
      { title, description, annotations, inputSchema, outputSchema },
      async (input, context): Promise<CallToolResult> =>
        work(input, context).catch((error: unknown) =>
          toolError(context.mcpReq.signal.aborted ? canceled() : error, log, name),
        ),
    );
  };
}

/** Nobody reads it: a report to a client that has gone is what fails then. */
function canceled(): Problem {
  return new Problem('aborted', 'The call was canceled.');
}

/** The protocol wants each report above the last. */
function progressOf({ mcpReq: { _meta: meta, notify } }: ServerContext): ToolCall['progress'] {
  const progressToken = meta?.progressToken;
  let last = -1;
  return async (percent, message) => {
    if (progressToken === undefined || percent <= last) return;
    last = percent;
    await notify({
      method: 'notifications/progress',
      params: { progressToken, progress: percent, total: 100, message },
    });
  };
}

/**
 * A schema as the SDK takes it. `toStandardJsonSchema` of the library ends a description at the first
 * transformation, such as the trimming of a text, and would drop the bounds that follow.
 */
function standard<Schema extends v.GenericSchema>(
  schema: Schema,
): StandardSchemaWithJSON<v.InferInput<Schema>, v.InferOutput<Schema>> {
  const json = () => ({
    ...toJsonSchema(schema, {
      target: 'draft-2020-12',
      ignoreActions: ['trim', 'transform', 'check', 'metadata'],
    }),
  });
  return { '~standard': { ...schema['~standard'], jsonSchema: { input: json, output: json } } };
}
