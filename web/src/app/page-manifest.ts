/** What `pages.json` holds. File names are relative to its folder. */
export type PageManifest = {
  pages: Record<string, Page & { status: 200 }>;
  /** Sent for every path of the signed-in area; a segment that starts with `$` is a parameter. */
  application: Page & { status: 200; paths: string[] };
  /** Sent for every other path, except missing files. */
  notFound: Page & { status: 404 };
  /**
   * The first tag of every page. The server may add `data-theme="light|dark"` from the cookie
   * `sf_theme`, motion and density likewise, and `data-mode="local"` in local mode.
   */
  htmlTag: string;
  /** Where the server writes an announcement. */
  announcementMark: string;
  /** The server leaves the part between these marks out when `choice` matches the Cookie header. */
  consent: { begin: string; end: string; choice: string };
  /** File names below this prefix contain a content hash, so the files never change. */
  immutablePrefix: string;
};

/** The hash allows the page's inlined style, as a source for `style-src` of its content policy. */
type Page = { file: string; styleHash: string };
