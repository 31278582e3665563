import { McpServer } from '@modelcontextprotocol/server';
import type { Log } from '#services/platform/process/log.ts';
import type { McpActions } from './actions.ts';
import type { RegisterTool } from './tool.ts';
import { ask } from './tools/ask.ts';
import { balance } from './tools/balance.ts';
import { follow } from './tools/follow.ts';
import { refine } from './tools/refine.ts';
import { result } from './tools/result.ts';
import { strategies } from './tools/strategies.ts';

const tools: readonly RegisterTool[] = [strategies, balance, ask, follow, result, refine];

const instructions = `Sevenfold puts one business question to seven or more AI models, lets them review each other blindly, counts their votes, and writes one recommendation that follows the vote.

1. \`strategies\` lists the panels with their prices in credits. \`balance\` says what the user has.
2. \`ask\` starts a run and reserves its price. It spends the user's credits, so ask the user first.
3. \`follow\` waits for the run, which takes minutes. Call it again until \`ended\` is true.
4. \`result\` has the recommendation, the votes and the dissent. Report the dissent with the decision, and say when \`simulated\` is true.
5. \`refine\` lets the models vote again with a changed fact or an instruction.`;

/** A server of the Model Context Protocol for one caller, over any transport. */
export function createMcpServer(
  actions: McpActions,
  { productName, version, log }: { productName: string; version: string; log: Log },
): McpServer {
  const server = new McpServer(
    { name: 'sevenfold', title: productName, version },
    // The list of tools never changes while a server lives.
    { capabilities: { tools: { listChanged: false } }, instructions },
  );
  for (const register of tools) register(server, actions, log);
  return server;
}
