import * as v from 'valibot';
import { Package } from '#services/payments/contract.ts';
import { read } from '#web/api/api.ts';

/** The packages the server offers now. Loaded when the prices scroll into view. */
export function currentPackages(signal: AbortSignal): Promise<Package[]> {
  return read('/credits/packages', v.array(Package), { signal });
}
