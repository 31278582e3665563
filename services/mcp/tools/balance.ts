import * as v from 'valibot';
import { defineTool } from '#services/mcp/tool.ts';

export const balance = defineTool({
  name: 'balance',
  title: 'Credit balance',
  description: () =>
    "The user's credits: available for runs, reserved by runs in progress, and owed. Costs nothing. Needs the scope credits:read.",
  scope: 'credits:read',
  annotations: { readOnlyHint: true, openWorldHint: false },
  input: v.strictObject({}),
  output: v.object({
    available: v.pipe(v.number(), v.description('Credits that can pay for runs now')),
    held: v.pipe(v.number(), v.description('Credits reserved by runs that have not settled yet')),
    debt: v.pipe(
      v.number(),
      v.description('Credits taken back after they were used; no run starts before it is paid'),
    ),
    spending_frozen: v.pipe(v.boolean(), v.description('Whether the operator has to lift a block')),
  }),
  async call(_input, { actions }) {
    const found = await actions.balance();
    return {
      structured: {
        available: found.available_credits,
        held: found.reserved_credits,
        debt: found.debt_credits,
        spending_frozen: found.spending_frozen,
      },
    };
  },
});
