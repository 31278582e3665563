import type { Package } from '#services/payments/contract.ts';

declare global {
  interface ImportMetaEnv {
    /** `PRODUCT_NAME` at build time. */
    readonly PRODUCT_NAME?: string;
    /** `CONTACT_EMAIL` at build time; empty when unset. */
    readonly CONTACT_EMAIL?: string;
    /** What can be bought, as the server's catalogue had it at build time. */
    readonly PACKAGES?: readonly Package[];
    /** Credits of a run by the strategy's name, the cheapest first, at build time. */
    readonly RUN_PRICES?: readonly { readonly strategy: string; readonly credits: number }[];
  }
}
