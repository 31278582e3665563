import type { Package } from '#services/payments/contract.ts';
import type { Film } from '#web/features/example/film.ts';

declare global {
  interface ImportMetaEnv {
    /** `PRODUCT_NAME` at build time. */
    readonly PRODUCT_NAME?: string;
    /** `CONTACT_EMAIL` at build time; empty when unset. */
    readonly CONTACT_EMAIL?: string;
    /** `ANALYTICS_URL` at build time; empty when unset. */
    readonly ANALYTICS_URL?: string;
    /** `SOCIAL_LINKS` at build time; null when unset. */
    readonly SOCIAL_LINKS?: readonly string[] | null;
    /** Whether `content/blog` and `content/careers` hold anything. */
    readonly HAS_POSTS?: boolean;
    readonly HAS_POSITIONS?: boolean;
    /** When the pages were built. */
    readonly BUILD_YEAR?: number;
    /** What can be bought, as the server's catalogue had it at build time. */
    readonly PACKAGES?: readonly Package[];
    /** Credits of a run by the strategy's name, the cheapest first, at build time. */
    readonly RUN_PRICES?: readonly { readonly strategy: string; readonly credits: number }[];
    /** The recorded run that the site plays. */
    readonly EXAMPLE_FILM?: Film;
    /** The operator's own claims; none unless they are switched on. */
    readonly CLAIMS?: readonly string[];
    /** Switches of `content/marketing.json`. */
    readonly SHOWS_MOST_POPULAR?: boolean;
    readonly SHOWS_PRO_CLAIM?: boolean;
  }
}
