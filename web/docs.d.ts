/** The HTML of a file of `docs`, made by `documents.ts`. */
declare module '#docs/*.md' {
  const html: string;
  export default html;
}

/** The same of `content/pages`. */
declare module '#content/pages/*.md' {
  const html: string;
  export default html;
}

/** A topic of `content/help`. */
declare module '#content/help/*.md' {
  import type { Topic } from '#web/features/site/topics.ts';

  const topic: Topic;
  export default topic;
}
