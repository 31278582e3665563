interface ImportMetaEnv {
  /** `PRODUCT_NAME` at build time. */
  readonly PRODUCT_NAME?: string;
  /** `CONTACT_EMAIL` at build time; empty when unset. */
  readonly CONTACT_EMAIL?: string;
}
