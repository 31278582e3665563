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
  a: ({ href, children }) =>
    isWebAddress(href) ? (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>
    ) : (
      <span>{children}</span>
    ),
};

/** In-text anchors and other schemes become plain words. */
function isWebAddress(href: string | undefined): boolean {
  return href !== undefined && URL.canParse(href) && new URL(href).protocol === 'https:';
}

const schema = {
  ...defaultSchema,
  tagNames: (defaultSchema.tagNames ?? []).filter(
    (name) => !['img', 'picture', 'source'].includes(name),
  ),
  protocols: { ...defaultSchema.protocols, href: ['https'], src: [], cite: [], longDesc: [] },
};

const rehypePlugins: Options['rehypePlugins'] = [
  [
    harden,
    {
      allowedLinkPrefixes: ['*'],
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
