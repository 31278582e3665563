import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { KeyScope } from '#services/platform/contract.ts';
import { keyScopes } from '#services/platform/contract.ts';
import type { Person, TestApp } from '#tests/support/app.ts';

/** The protocol before and since its revision of July 2026; clients speak either. */
export const eras = ['legacy', 'auto'] as const;
export type Era = (typeof eras)[number];

/** The official client over streamable HTTP. */
export async function overHttp(url: string, key: string, era: Era = 'auto'): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: era } },
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', url), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    }),
  );
  return client;
}

export async function keyOf(
  app: Pick<TestApp, 'data'>,
  { token }: Person,
  scopes: readonly KeyScope[] = keyScopes,
  cap: number = 100,
): Promise<{ id: string; key: string }> {
  const body = { name: 'An agent', scopes, monthly_cap: cap };
  return app.data('/api-keys', { token, body });
}

/** Its structured content; a tool error throws. The client has compared it with the tool's schema. */
export async function call<Content>(
  client: Client,
  name: string,
  input: Record<string, unknown> = {},
  options: Parameters<Client['callTool']>[1] = {},
): Promise<Content> {
  const result = await client.callTool({ name, arguments: input }, options);
  if (result.isError === true) throw new Error(textOf(result));
  return result.structuredContent as Content;
}

/** The sentences of a tool error. */
export async function refusal(
  client: Client,
  name: string,
  input: Record<string, unknown> = {},
): Promise<string> {
  const result = await client.callTool({ name, arguments: input });
  if (result.isError !== true) throw new Error(`${name} was not refused`);
  return textOf(result);
}

export function textOf({ content }: Pick<CallToolResult, 'content'>): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}
