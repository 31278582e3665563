/** The HTML of a file of `docs`, made by `documents.ts`. */
declare module '#docs/*.md' {
  const html: string;
  export default html;
}
