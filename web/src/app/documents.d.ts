/** The HTML of a file of `docs`, made by `web/documents.ts`. */
declare module '#docs/*.md' {
  const html: string;
  export default html;
}
