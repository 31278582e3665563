/**
 * `web/content/marketing.json`: claims that no reader can check, or that nothing measured. Each is left
 * out until the operator, who answers for it, sets its switch to true.
 */
export type Marketing = {
  readonly shown: {
    readonly claims: boolean;
    /** The badge 'Most Popular', on the package that the catalogue names. */
    readonly mostPopular: boolean;
    /** 'Get 10x more optimizations and unlock advanced features with Pro.' */
    readonly pro: boolean;
  };
  readonly claims: readonly string[];
};

export function claimsShown({ shown, claims }: Marketing): readonly string[] {
  return shown.claims ? claims : [];
}
