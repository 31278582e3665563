/** What `pages.json` holds. Files are relative to the folder it stands in. */
export type PageManifest = {
  /** Pages by exact path, without a trailing slash. */
  pages: Record<string, { file: string; status: 200 }>;
  /** Sent for every path of the signed-in area; a segment that begins with `$` is a parameter. */
  application: { file: string; status: 200; paths: string[] };
  /** Sent for every other path, except files that are missing. */
  notFound: { file: string; status: 404 };
  /**
   * The first tag of every page. The server may put attributes into it: `data-theme="light|dark"`
   * from the cookie `sf_theme`, and `data-mode="local"` in local mode.
   */
  htmlTag: string;
  /** Sources for `style-src` and `script-src` of the content policy, beside 'self'. */
  contentPolicy: { styleHashes: string[]; scriptHashes: string[] };
  /** Files below this prefix have their content's hash in their name and never change. */
  immutablePrefix: string;
};
