import * as v from 'valibot';
import { Package } from '#services/payments/contract.ts';
import { read } from '#web/api/api.ts';

/** The packages as the server offers them now. Loaded once somebody looks at prices. */
export function currentPackages(signal: AbortSignal): Promise<Package[]> {
  return read('/credits/packages', v.array(Package), { signal });
}
