import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';

/** Keeps this title on the window while the component is shown. */
export function useWindowTitle(title: string): void {
  const router = useRouter();
  useEffect(() => {
    const show = (): void => {
      document.title = title;
    };
    show();
    // After a navigation the router sets its own title last, and it would stay.
    return router.subscribe('onRendered', show);
  }, [title, router]);
}
