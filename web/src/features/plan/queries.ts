import { queryOptions } from '@tanstack/react-query';
import { Plan, type PlanRequest, PortalReply } from '#services/payments/contract.ts';
import { read, write } from '#web/api/api.ts';
import { providerAddress } from '#web/app/provider-page.ts';

/** The tier and the plan. Each change of the balance refreshes it, because a renewal is one. */
export const planQuery = queryOptions({
  queryKey: ['credits', 'plan'],
  queryFn: ({ signal }) => read('/credits/plan', Plan, { signal }),
});

/** Returns the plan as it is afterwards. */
export function changePlan(request: PlanRequest, key: string): Promise<Plan> {
  return write('POST', '/credits/plan', request, Plan, { key });
}

/** The provider's page for cards and invoices, which returns to this site's plan page. */
export async function openPortal(): Promise<string> {
  const request = { return_url: `${location.origin}/credits/plan` };
  const { url } = await write('POST', '/credits/portal-session', request, PortalReply);
  const address = providerAddress(url);
  if (address === null) throw new Error('The server named no page for cards and invoices');
  return address;
}
