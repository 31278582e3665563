import { lazy, type ReactNode, Suspense } from 'react';
import { keptAsSent } from '#web/app/kept-as-sent.ts';

/**
 * The recorded run. The build draws its first picture into the page; the player is a file of its own,
 * loaded when the page is hydrated, and plays in that picture's place.
 */
const Player = lazy(async () => ({
  default: (await keptAsSent('player', import('./player.tsx'))).Player,
}));

/** Elements and not components: a page that draws itself again leaves a waiting player alone. */
export const example: ReactNode = (
  <Suspense fallback={<Reserved />}>
    <Player large={false} />
  </Suspense>
);
export const largeExample: ReactNode = (
  <Suspense fallback={<Reserved />}>
    <Player large />
  </Suspense>
);

/** Where the page was reached by a link, the player's place while it loads. */
function Reserved(): ReactNode {
  return <div className="min-h-160 rounded-card border border-line bg-surface" aria-busy="true" />;
}
