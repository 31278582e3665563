/** The packages at build time, from the server's own catalogue. */
export const builtPackages = import.meta.env.PACKAGES ?? [];

/** Credits of one run, by strategy; the cheapest first. */
export const runPrices = import.meta.env.RUN_PRICES ?? [];
