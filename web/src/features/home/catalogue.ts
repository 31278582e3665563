/** The packages as they were when the pages were built, from the catalogue that the server sells by. */
export const builtPackages = import.meta.env.PACKAGES ?? [];

/** Credits of one run, by strategy; the cheapest first. */
export const runPrices = import.meta.env.RUN_PRICES ?? [];
