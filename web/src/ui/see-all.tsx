import { type ReactNode, useState } from 'react';
import { Button } from '#web/ui/form/button.tsx';

/** A long list that shows its first `most` items until the button is pressed; paper shows all. */
export function useSeeAll(
  count: number,
  most: number,
): { classOf: (index: number) => string | undefined; button: ReactNode } {
  const [all, setAll] = useState(false);
  const isCut = count > most && !all;
  return {
    classOf: (index) => (isCut && index >= most ? 'not-print:hidden' : undefined),
    button: isCut ? (
      <Button tone="quiet" className="-ms-4 print:hidden" onClick={() => setAll(true)}>
        See all ({count})
      </Button>
    ) : null,
  };
}
