import { lazy, type ReactNode, Suspense } from 'react';

/** The parser is large and only needed where a text is finished, so it is a chunk of its own. */
const MarkdownBody = lazy(() =>
  import('./markdown-body.tsx').then((module) => ({ default: module.MarkdownBody })),
);

/**
 * Text of a model as Markdown. It counts as hostile: raw HTML is dropped, no image is ever loaded,
 * and only https links work. Until the parser is there, the text shows as it is.
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
