import { basename } from 'node:path';
import type { Plugin } from 'vite';
import { addressOf, guideContent } from '#services/http/guide.ts';
import type { Post } from './src/features/site/posts.ts';
import type { Topic } from './src/features/site/topics.ts';
import { withFacts } from './content-facts.ts';

/**
 * Markdown is compiled by the build, so that no page loads a parser. A file of `docs` or `content/pages`
 * is imported as its HTML, one of `content/help` as a topic, one of `content/blog` or `content/careers`
 * as a post. Texts of `content` may name facts as `{{name}}`.
 */
export function documents(facts: Readonly<Record<string, string>>): Plugin {
  return {
    name: 'documents',
    transform: {
      filter: { id: /\/(?:docs|content\/(?:pages|help|blog|careers))\/[\w-]+\.md$/ },
      handler: async (text, id) => {
        const folder = /\/(\w+)\/[\w-]+\.md$/.exec(id)?.[1];
        const filled = folder === 'docs' ? text.replace(notOnThePage, '') : withFacts(text, facts);
        const content =
          folder === 'help'
            ? await topicOf(filled)
            : folder === 'blog' || folder === 'careers'
              ? await postOf(filled, basename(id, '.md'))
              : await guideContent(filled);
        return { code: `export default ${JSON.stringify(content)};`, map: null };
      },
    },
  };
}

/** What a file of `docs` says to those who run the software. */
const notOnThePage = /<!-- not on the page[^]*?<!-- on the page again -->\n/g;

/** `# Topic`, then `## Question` with its answer, again and again. */
async function topicOf(text: string): Promise<Topic> {
  const [head = '', ...parts] = text.split(/^## /m);
  const questions = parts.map(async (part) => {
    const title = part.split('\n', 1)[0]?.trim() ?? '';
    const html = await guideContent(part.slice(part.indexOf('\n') + 1));
    return { id: addressOf(title) ?? '', title, html };
  });
  return { title: titleOf(head), questions: await Promise.all(questions) };
}

/** A file name begins with its date: `2026-11-20-first-post.md`. */
async function postOf(text: string, name: string): Promise<Post> {
  const date = /^\d{4}-\d{2}-\d{2}/.exec(name)?.[0];
  if (date === undefined) throw new Error(`${name}.md must begin with a date, such as 2026-11-20`);
  const html = await guideContent(text.replace(/^# .*\n/, ''));
  return { id: name.slice(date.length + 1), title: titleOf(text), date, html };
}

function titleOf(text: string): string {
  const title = /^# (.+)$/m.exec(text)?.[1];
  if (title === undefined) throw new Error('A text begins with its title: # Title');
  return title;
}
