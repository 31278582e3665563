/**
 * A part of a page that the page can do without: when its script cannot be loaded, the part stays as
 * sent, because the promise never settles.
 */
export async function keptAsSent<T>(part: string, script: Promise<T>): Promise<T> {
  try {
    return await script;
  } catch (error) {
    console.warn(`The ${part} could not be loaded`, error);
    return new Promise(() => {});
  }
}
