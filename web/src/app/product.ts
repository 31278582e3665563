/** `PRODUCT_NAME` when the pages were built. */
export const productName = import.meta.env.PRODUCT_NAME ?? 'Sevenfold';

/** The contact address, or undefined when the operator has set none. */
export const contactEmail = import.meta.env.CONTACT_EMAIL || undefined;

/** "Login · Sevenfold"; the home page has no name of its own. */
export function windowTitle(title: string | undefined): string {
  return title
    ? `${title} · ${productName}`
    : `${productName}: one question, seven or more AI models`;
}
