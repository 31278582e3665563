import { Link } from '@tanstack/react-router';
import { Coins, LayoutDashboard, Menu, Search, SquarePen } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { User } from '#services/identity/contract/session.ts';
import { Avatar } from '#web/ui/avatar.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { Dialog } from '#web/ui/dialog.tsx';
import { Brand } from '#web/features/shell/brand.tsx';
import { ThemeSwitch } from '#web/features/shell/theme-switch.tsx';

const place =
  'inline-flex min-h-11 items-center rounded-control px-2 text-ink-2 hover:text-ink aria-[current=page]:font-semibold aria-[current=page]:text-ink';
const tab =
  'flex min-h-14 flex-col items-center justify-center gap-0.5 text-sm text-ink-2 aria-[current=page]:font-semibold aria-[current=page]:text-accent';
const sheetPlace = 'flex min-h-12 items-center rounded-control px-3 text-lg hover:bg-sunken';

type Props = {
  user: User;
  /** The public name of the user's tier. */
  tier: string;
  onLogout: () => void;
  /** Opens the command palette. */
  onSearch: () => void;
  /** Opens the list of shortcuts. */
  onShowKeys: () => void;
  /** The credits badge beside the name. */
  credits?: ReactNode;
  /** The same in full, in the phone menu. */
  creditsInFull?: ReactNode;
  bell?: ReactNode;
};

/** The bar of a signed-in user, and on phones the four links at the bottom edge. */
export function MemberBar({ credits, bell, ...menu }: Props): ReactNode {
  const { user, tier, onLogout, onSearch } = menu;
  return (
    <>
      <header className="border-b border-line">
        <nav
          aria-label="Main"
          className="mx-auto flex min-h-16 max-w-page flex-wrap items-center gap-x-2 px-4 sm:px-6 print:hidden"
        >
          <Link
            to="/dashboard"
            className="-ms-2 inline-flex min-h-11 items-center rounded-control px-2"
          >
            <Brand tight />
          </Link>
          <div className="hidden items-center lg:flex xl:ms-4">
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
          <div className="ms-auto flex max-w-full items-center">
            {credits}
            <button
              type="button"
              aria-label="Search and commands"
              aria-keyshortcuts="Control+K Meta+K"
              title="Search and commands"
              aria-haspopup="dialog"
              onClick={onSearch}
              className="hidden size-11 place-items-center rounded-control text-ink-2 hover:bg-sunken hover:text-ink lg:grid"
            >
              <Search size={20} aria-hidden="true" />
            </button>
            {bell}
            <span className="hidden items-center lg:flex">
              <Link to="/profile" className={`${place} gap-2`} title="Account Settings">
                <Avatar user={user} />
                <span className="min-w-0 leading-tight">
                  <span className="block max-w-28 truncate xl:max-w-44 font-medium">
                    {user.name || 'User'}
                  </span>
                  <span className="block text-sm text-ink-3">{tier}</span>
                </span>
              </Link>
              <button type="button" className={`${place} hover:bg-sunken`} onClick={onLogout}>
                Logout
              </button>
            </span>
          </div>
        </nav>
      </header>
      <PlacesBar {...menu} />
    </>
  );
}

/** Fixed to the bottom edge of phones; the page keeps room for it. */
function PlacesBar({
  user,
  tier,
  onLogout,
  onSearch,
  onShowKeys,
  creditsInFull,
}: Omit<Props, 'credits' | 'bell'>): ReactNode {
  const [menuOpen, setMenuOpen] = useState(false);
  const closeMenu = (): void => setMenuOpen(false);
  return (
    <>
      <nav
        aria-label="Main sections"
        // The consent banner stands above it.
        data-places=""
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
            <p className="text-sm text-ink-3">{tier}</p>
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
          <li>
            <SheetButton onPress={onSearch} onClose={closeMenu}>
              Search and commands
            </SheetButton>
          </li>
          <li>
            <SheetButton onPress={onShowKeys} onClose={closeMenu}>
              Keyboard shortcuts
            </SheetButton>
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

/** Closes the sheet before it opens a dialog of its own. */
function SheetButton({
  onPress,
  onClose,
  children,
}: {
  onPress: () => void;
  onClose: () => void;
  children: string;
}): ReactNode {
  return (
    <button
      type="button"
      aria-haspopup="dialog"
      className={`${sheetPlace} w-full text-start`}
      onClick={() => {
        onClose();
        onPress();
      }}
    >
      {children}
    </button>
  );
}
