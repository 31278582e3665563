/** The product's name as people read it: `PRODUCT_NAME` when the pages were built. */
export const productName = import.meta.env.PRODUCT_NAME ?? 'Sevenfold';

/** Where people write to, or undefined when the operator has not said. */
export const contactEmail = import.meta.env.CONTACT_EMAIL || undefined;
