import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { showToast } from '#web/ui/feedback/toasts.tsx';
import { Brand } from './brand.tsx';
import type { VisitorMenu } from './visitor-menu.tsx';

const bar =
  'mx-auto flex min-h-16 max-w-page flex-wrap items-center justify-between gap-4 px-4 sm:px-6 print:hidden';
const place =
  'inline-flex min-h-11 items-center rounded-control px-3 text-ink-2 hover:text-ink aria-[current=page]:font-semibold aria-[current=page]:text-ink';

/** The bar of a user until it is loaded: only the brand, where it will stand. */
export function PendingBar(): ReactNode {
  return (
    <header className="border-b border-line">
      <div className={bar}>
        <Brand tight />
      </div>
    </header>
  );
}

/** The bar of a visitor. On phones its links move into a sheet, loaded at a press. */
export function VisitorBar(): ReactNode {
  const [Sheet, setSheet] = useState<typeof VisitorMenu | null>(null);
  const openMenu = async (): Promise<void> => {
    try {
      const { VisitorMenu: loaded } = await import('./visitor-menu.tsx');
      setSheet(() => loaded);
    } catch (error) {
      console.warn('The menu could not be loaded', error);
      showToast('error', "We couldn't open the menu", {
        message: 'Check your internet and try again.',
      });
    }
  };
  return (
    <header className="border-b border-line">
      <nav aria-label="Main" className={bar}>
        <Link to="/" className="-ms-2 inline-flex min-h-11 items-center rounded-control px-2">
          <Brand />
        </Link>
        <div className="hidden items-center gap-1 lg:flex">
          <Link to="/" activeOptions={{ exact: true, includeHash: true }} className={place}>
            Home
          </Link>
          <Link to="/" hash="features" activeOptions={{ includeHash: true }} className={place}>
            Features
          </Link>
          <Link to="/" hash="pricing" activeOptions={{ includeHash: true }} className={place}>
            Pricing
          </Link>
          <Link to="/login" className={place}>
            Login
          </Link>
          <LinkButton to="/signup" tone="primary" className="ms-2">
            Find Opportunities - $5
          </LinkButton>
        </div>
        <div className="flex flex-wrap items-center gap-1 lg:hidden">
          <Link to="/login" className={place}>
            Login
          </Link>
          <Button tone="quiet" aria-haspopup="dialog" onClick={() => void openMenu()}>
            Menu
          </Button>
        </div>
      </nav>
      {Sheet === null ? null : <Sheet onClose={() => setSheet(null)} />}
    </header>
  );
}
