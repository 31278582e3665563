import type { ReactNode } from 'react';
import ReactMarkdown, { type Components, type Options } from 'react-markdown';
import { harden } from 'rehype-harden';
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize';
import remarkGfm from 'remark-gfm';

/** Headings inside a text start below the page's own, to keep the outline valid. */
const components: Components = {
  h1: 'h3',
  h2: 'h3',
  h3: 'h4',
  h4: 'h5',
  h5: 'h6',
  // A link of a model leads wherever the model wants, so only its words are shown.
  a: ({ children }) => <span>{children}</span>,
};

const schema = {
  ...defaultSchema,
  tagNames: (defaultSchema.tagNames ?? []).filter(
    (name) => !['img', 'picture', 'source'].includes(name),
  ),
  protocols: { ...defaultSchema.protocols, href: [], src: [], cite: [], longDesc: [] },
};

const rehypePlugins: Options['rehypePlugins'] = [
  [
    harden,
    {
      allowedLinkPrefixes: [],
      allowedImagePrefixes: [],
      linkBlockPolicy: 'text-only',
      imageBlockPolicy: 'text-only',
    },
  ],
  [rehypeSanitize, schema],
];

export function MarkdownBody({ text }: { text: string }): ReactNode {
  return (
    <ReactMarkdown
      remarkPlugins={[remarkGfm]}
      rehypePlugins={rehypePlugins}
      components={components}
      skipHtml
    >
      {text}
    </ReactMarkdown>
  );
}
