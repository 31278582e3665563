import { useEffect } from 'react';

/** Opens every folded part of the page for paper, which cannot be unfolded, and folds them again. */
export function usePrintedWhole(): void {
  useEffect(() => {
    let opened: HTMLDetailsElement[] = [];
    const open = (): void => {
      opened = [...document.querySelectorAll<HTMLDetailsElement>('main details:not([open])')];
      for (const part of opened) part.open = true;
    };
    const fold = (): void => {
      for (const part of opened) part.open = false;
    };
    addEventListener('beforeprint', open);
    addEventListener('afterprint', fold);
    return () => {
      removeEventListener('beforeprint', open);
      removeEventListener('afterprint', fold);
    };
  }, []);
}
