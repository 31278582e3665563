import { lazy, type ReactNode, Suspense } from 'react';

/** The parser is large and only needed for finished texts, so it is a separate chunk. */
const MarkdownBody = lazy(() =>
  import('./markdown-body.tsx').then((module) => ({ default: module.MarkdownBody })),
);

/**
 * A model's text as Markdown. It is treated as hostile: no raw HTML, no images, only https links.
 * Plain text is shown until the parser has loaded.
 */
export function Markdown({ text }: { text: string }): ReactNode {
  return (
    <div className="prose">
      <Suspense fallback={<p className="whitespace-pre-wrap">{text}</p>}>
        <MarkdownBody text={text} />
      </Suspense>
    </div>
  );
}
