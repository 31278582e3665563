import * as v from 'valibot';
import { Balance } from '#services/credits/contract.ts';
import { defineTool } from '#services/mcp/tool.ts';

export const balance = defineTool({
  name: 'balance',
  title: 'Credit balance',
  description: () =>
    "The user's credits: available for runs, reserved by runs in progress, and owed. Costs nothing.",
  scope: 'credits:read',
  input: v.strictObject({}),
  output: Balance,
  async call(_input, { actions }) {
    return { structured: await actions.balance() };
  },
});
