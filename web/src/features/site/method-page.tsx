import type { ReactNode } from 'react';
import content from '#docs/method.md';
import { Article } from './article.tsx';

/** `docs/method.md`, which is compiled to HTML by the build. */
export function MethodPage(): ReactNode {
  return <Article html={content} />;
}
