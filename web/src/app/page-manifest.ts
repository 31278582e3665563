/** What `pages.json` holds. File names are relative to its folder. */
export type PageManifest = {
  pages: Record<string, { file: string; status: 200 }>;
  /** Sent for every path of the signed-in area; a segment that starts with `$` is a parameter. */
  application: { file: string; status: 200; paths: string[] };
  /** Sent for every other path, except missing files. */
  notFound: { file: string; status: 404 };
  /**
   * The first tag of every page. The server may add `data-theme="light|dark"` from the cookie
   * `sf_theme`, and `data-mode="local"` in local mode.
   */
  htmlTag: string;
  /** Sources for `style-src` and `script-src` of the content policy, besides 'self'. */
  contentPolicy: { styleHashes: string[]; scriptHashes: string[] };
  /** File names below this prefix contain a content hash, so the files never change. */
  immutablePrefix: string;
};
