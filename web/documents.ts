import type { Plugin } from 'vite';
import { guideContent } from '#services/http/guide.ts';

/** A Markdown file of `docs` is imported as its HTML, so that a page and the repository have one text. */
export const documents: Plugin = {
  name: 'documents',
  transform: {
    filter: { id: /\/docs\/[\w-]+\.md$/ },
    handler: async (text) => ({
      code: `export default ${JSON.stringify(await guideContent(text))};`,
      map: null,
    }),
  },
};
