/** The product's name as people read it: `PRODUCT_NAME` when the pages were built. */
export const productName = import.meta.env.PRODUCT_NAME ?? 'Sevenfold';

/** Where people write to, or undefined when the operator has not said. */
export const contactEmail = import.meta.env.CONTACT_EMAIL || undefined;

/** "Login · Sevenfold"; the home page, which has no name, is the product itself. */
export function windowTitle(title: string | undefined): string {
  return title
    ? `${title} · ${productName}`
    : `${productName}: one question, seven or more AI models`;
}
