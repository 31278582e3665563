import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button, LinkButton } from '#web/ui/form/button.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { Brand } from './brand.tsx';
import { ThemeSwitch } from './theme-switch.tsx';

const bar =
  'mx-auto flex min-h-16 max-w-page flex-wrap items-center justify-between gap-4 px-4 sm:px-6 print:hidden';
const place =
  'inline-flex min-h-11 items-center rounded-control px-3 text-ink-2 hover:text-ink aria-[current=page]:font-semibold aria-[current=page]:text-ink';
const sheetPlace = 'flex min-h-12 items-center rounded-control px-3 text-lg hover:bg-sunken';

/** The bar while the session is unknown: only the brand, so that nothing in it can be wrong. */
export function WaitingBar(): ReactNode {
  return (
    <header className="border-b border-line">
      <div className={bar}>
        <Brand />
      </div>
    </header>
  );
}

/** The bar of a visitor. On phones its links move into a sheet. */
export function VisitorBar(): ReactNode {
  const [menuOpen, setMenuOpen] = useState(false);
  const closeMenu = (): void => setMenuOpen(false);
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
          <Button tone="quiet" aria-haspopup="dialog" onClick={() => setMenuOpen(true)}>
            Menu
          </Button>
        </div>
      </nav>
      <Dialog open={menuOpen} onClose={closeMenu} title="Menu" sheet>
        <nav aria-label="Menu">
          <ul>
            <li>
              <Link to="/" className={sheetPlace} onClick={closeMenu}>
                Home
              </Link>
            </li>
            <li>
              <Link to="/" hash="features" className={sheetPlace} onClick={closeMenu}>
                Features
              </Link>
            </li>
            <li>
              <Link to="/" hash="pricing" className={sheetPlace} onClick={closeMenu}>
                Pricing
              </Link>
            </li>
            <li>
              <Link to="/login" className={sheetPlace} onClick={closeMenu}>
                Login
              </Link>
            </li>
          </ul>
        </nav>
        <LinkButton to="/signup" tone="primary" wide onClick={closeMenu}>
          Find Opportunities - $5
        </LinkButton>
        <ThemeSwitch />
      </Dialog>
    </header>
  );
}
