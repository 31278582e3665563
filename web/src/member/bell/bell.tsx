import { useRouter } from '@tanstack/react-router';
import { Bell as BellIcon } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { NoticeList } from './notice-list.tsx';
import { unreadCount } from './notices.ts';
import { clearNotices, markAllRead, useNotices } from './store.ts';

/** The bell in the bar, and below it the last messages and finished runs. */
export function Bell(): ReactNode {
  const kept = useNotices();
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const panelId = useId();
  const router = useRouter();
  const unread = unreadCount(kept);
  useEffect(() => {
    if (!isOpen) return undefined;
    const close = (): void => {
      setOpen(false);
      // What was new stays marked while the list is open.
      markAllRead();
    };
    const closeOutside = ({ target }: Event): void => {
      if (target instanceof Node && !box.current?.contains(target)) close();
    };
    const closeOnEscape = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      close();
      button.current?.focus();
    };
    document.addEventListener('pointerdown', closeOutside);
    document.addEventListener('focusin', closeOutside);
    document.addEventListener('keydown', closeOnEscape);
    const stopFollowing = router.subscribe('onBeforeNavigate', close);
    return () => {
      document.removeEventListener('pointerdown', closeOutside);
      document.removeEventListener('focusin', closeOutside);
      document.removeEventListener('keydown', closeOnEscape);
      stopFollowing();
    };
  }, [isOpen, router]);
  const toggle = (): void => {
    if (isOpen) markAllRead();
    setOpen(!isOpen);
  };
  return (
    <div ref={box} className="lg:relative">
      <button
        ref={button}
        type="button"
        aria-expanded={isOpen}
        aria-controls={panelId}
        aria-label={unread === 0 ? 'Notifications' : `Notifications, ${unread} unread`}
        onClick={toggle}
        className="relative grid size-11 place-items-center rounded-control text-ink-2 hover:bg-sunken hover:text-ink"
      >
        <BellIcon size={20} aria-hidden="true" />
        {unread === 0 ? null : (
          <span
            aria-hidden="true"
            className="absolute end-0.5 top-0.5 grid h-5 min-w-5 place-items-center rounded-full bg-accent px-1 text-sm leading-none font-semibold text-on-accent"
          >
            {unread}
          </span>
        )}
      </button>
      <section
        id={panelId}
        hidden={!isOpen}
        aria-label="Recent notifications"
        className="absolute end-4 z-30 max-h-[70dvh] w-[min(24rem,calc(100vw-2rem))] overflow-y-auto rounded-card border border-line bg-surface shadow-float lg:end-0"
      >
        {isOpen ? (
          <NoticeList
            kept={kept}
            onClear={() => {
              clearNotices();
              button.current?.focus();
            }}
          />
        ) : null}
      </section>
    </div>
  );
}
