import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { LinkButton } from '#web/ui/form/button.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { ThemeSwitch } from './theme-switch.tsx';

const sheetPlace = 'flex min-h-12 items-center rounded-control px-3 text-lg hover:bg-sunken';

/** The links of a visitor on a phone. */
export function VisitorMenu({ onClose }: { onClose: () => void }): ReactNode {
  return (
    <Dialog open onClose={onClose} title="Menu" sheet>
      <nav aria-label="Menu">
        <ul>
          <li>
            <Link to="/" className={sheetPlace} onClick={onClose}>
              Home
            </Link>
          </li>
          <li>
            <Link to="/" hash="features" className={sheetPlace} onClick={onClose}>
              Features
            </Link>
          </li>
          <li>
            <Link to="/" hash="pricing" className={sheetPlace} onClick={onClose}>
              Pricing
            </Link>
          </li>
          <li>
            <Link to="/login" className={sheetPlace} onClick={onClose}>
              Login
            </Link>
          </li>
        </ul>
      </nav>
      <LinkButton to="/signup" tone="primary" wide onClick={onClose}>
        Find Opportunities - $5
      </LinkButton>
      <ThemeSwitch />
    </Dialog>
  );
}
