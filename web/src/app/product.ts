/** `PRODUCT_NAME` when the pages were built. */
export const productName = import.meta.env.PRODUCT_NAME ?? 'Sevenfold';

/** The contact address, or undefined when the operator has set none. */
export const contactEmail = import.meta.env.CONTACT_EMAIL || undefined;

/** `ANALYTICS_URL`: a script that runs only after consent; undefined when the operator measures nothing. */
export const analyticsUrl = import.meta.env.ANALYTICS_URL || undefined;

/** The operator's pages elsewhere, in their order; null for none. */
export const socialLinks = import.meta.env.SOCIAL_LINKS ?? null;

/** "Login · Sevenfold"; the home page has no name of its own. */
export function windowTitle(title: string | undefined): string {
  return title
    ? `${title} · ${productName}`
    : `${productName}: one question, seven AI models, one recommendation`;
}
