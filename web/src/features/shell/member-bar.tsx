import { Link } from '@tanstack/react-router';
import { Coins, LayoutDashboard, Menu, SquarePen } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { User } from '#services/identity/contract.ts';
import { Avatar } from '#web/ui/avatar.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { Brand } from './brand.tsx';
import { ThemeSwitch } from './theme-switch.tsx';

const place =
  'inline-flex min-h-11 items-center rounded-control px-3 text-ink-2 hover:text-ink aria-[current=page]:font-semibold aria-[current=page]:text-ink';
const tab =
  'flex min-h-14 flex-col items-center justify-center gap-0.5 text-sm text-ink-2 aria-[current=page]:font-semibold aria-[current=page]:text-accent';
const sheetPlace = 'flex min-h-12 items-center rounded-control px-3 text-lg hover:bg-sunken';

type Props = {
  user: User;
  onLogout: () => void;
  /** The credits badge beside the name. */
  credits?: ReactNode;
  /** The same in full, in the phone menu. */
  creditsInFull?: ReactNode;
};

/** The bar of a signed-in user, and on phones the four links at the bottom edge. */
export function MemberBar({ user, onLogout, credits, creditsInFull }: Props): ReactNode {
  return (
    <>
      <header className="border-b border-line">
        <nav
          aria-label="Main"
          className="mx-auto flex min-h-16 max-w-page flex-wrap items-center justify-between gap-4 px-4 sm:px-6 print:hidden"
        >
          <Link
            to="/dashboard"
            className="-ms-2 inline-flex min-h-11 items-center rounded-control px-2"
          >
            <Brand />
          </Link>
          <div className="hidden items-center gap-1 lg:flex">
            <Link to="/dashboard" className={place}>
              Dashboard
            </Link>
            <Link to="/optimization" className={place}>
              Opportunity Discovery
            </Link>
            <Link to="/recipes" className={place}>
              Recipes
            </Link>
          </div>
          <div className="flex items-center gap-3">
            {credits}
            <span className="hidden items-center gap-3 lg:flex">
              <Link to="/profile" className={`${place} gap-3`} title="Account Settings">
                <Avatar user={user} />
                <span className="max-w-40 truncate font-medium">{user.name || 'User'}</span>
              </Link>
              <Button tone="quiet" onClick={onLogout}>
                Logout
              </Button>
            </span>
          </div>
        </nav>
      </header>
      <PlacesBar user={user} onLogout={onLogout} creditsInFull={creditsInFull} />
    </>
  );
}

/** Fixed to the bottom edge of phones; the page keeps room for it. */
function PlacesBar({ user, onLogout, creditsInFull }: Omit<Props, 'credits'>): ReactNode {
  const [menuOpen, setMenuOpen] = useState(false);
  const closeMenu = (): void => setMenuOpen(false);
  return (
    <>
      <nav
        aria-label="Places"
        className="fixed inset-x-0 bottom-0 z-30 grid grid-cols-4 border-t border-line bg-surface pb-[env(safe-area-inset-bottom)] lg:hidden print:hidden"
      >
        <Link to="/dashboard" className={tab}>
          <LayoutDashboard size={20} aria-hidden="true" />
          Dashboard
        </Link>
        <Link to="/optimization" className={tab}>
          <SquarePen size={20} aria-hidden="true" />
          New
        </Link>
        <Link to="/credits" className={tab}>
          <Coins size={20} aria-hidden="true" />
          Credits
        </Link>
        <button
          type="button"
          className={tab}
          aria-haspopup="dialog"
          onClick={() => setMenuOpen(true)}
        >
          <Menu size={20} aria-hidden="true" />
          Menu
        </button>
      </nav>
      <Dialog open={menuOpen} onClose={closeMenu} title="Menu" sheet>
        <div className="flex items-center gap-3">
          <Avatar user={user} />
          <div className="min-w-0">
            <p className="truncate font-semibold">{user.name || 'User'}</p>
            <p className="truncate text-sm text-ink-3">{user.email}</p>
          </div>
        </div>
        {creditsInFull}
        <ul>
          <li>
            <Link to="/dashboard" className={sheetPlace} onClick={closeMenu}>
              Dashboard
            </Link>
          </li>
          <li>
            <Link to="/optimization" className={sheetPlace} onClick={closeMenu}>
              Opportunity Discovery
            </Link>
          </li>
          <li>
            <Link to="/recipes" className={sheetPlace} onClick={closeMenu}>
              Recipes
            </Link>
          </li>
          <li>
            <Link to="/credits" className={sheetPlace} onClick={closeMenu}>
              Credits
            </Link>
          </li>
          <li>
            <Link to="/profile" className={sheetPlace} onClick={closeMenu}>
              Account Settings
            </Link>
          </li>
        </ul>
        <ThemeSwitch />
        <Button wide onClick={onLogout}>
          Logout
        </Button>
      </Dialog>
    </>
  );
}
