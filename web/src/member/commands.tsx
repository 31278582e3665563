import { useRouter } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useEffectEvent, useRef, useState } from 'react';
import { foundNewVersion } from '#web/member/connection/version.ts';
import { showToast } from '#web/ui/feedback/toasts.tsx';
import { isEditable, pressed, shortcuts, type Waiting } from './keys.ts';

/** Loaded when first wanted. */
const load = {
  palette: () => import('./palette/palette.tsx'),
  sheet: () => import('./palette/key-sheet.tsx'),
} as const;
const Palette = lazy(async () => ({ default: (await load.palette()).Palette }));
const KeySheet = lazy(async () => ({ default: (await load.sheet()).KeySheet }));
export type Overlay = keyof typeof load;

/** The palette, the list of shortcuts, and the keys. */
export function Commands({
  singleKeys,
  overlay,
  onOverlay,
}: {
  singleKeys: boolean;
  /** What is wanted, by a key or by a button of the bar. */
  overlay: Overlay | null;
  onOverlay: (overlay: Overlay | null) => void;
}): ReactNode {
  const router = useRouter();
  const [loaded, setLoaded] = useState<readonly Overlay[]>([]);
  const shown = overlay !== null && loaded.includes(overlay) ? overlay : null;
  const waiting = useRef<Waiting>(null);
  const close = (): void => onOverlay(null);
  const giveUp = useEffectEvent((error: unknown): void => {
    console.warn('A part of the page could not be loaded', error);
    close();
    if (navigator.onLine) foundNewVersion();
    else showToast('error', "You're offline", { message: 'Try again once you reconnect.' });
  });
  useEffect(() => {
    if (overlay === null) return;
    load[overlay]().then(() => setLoaded((before) => [...before, overlay]), giveUp);
  }, [overlay]);
  const follow = useEffectEvent((event: KeyboardEvent) => {
    const press = { ...plain(event), isEditable: isEditable(event) };
    const result = pressed(waiting.current, press, { now: Date.now(), singleKeys });
    waiting.current = result.waiting;
    const { command } = result;
    if (command === null) return;
    event.preventDefault();
    if (command === 'palette' && overlay === 'palette') close();
    else if (command === 'palette' || command === 'sheet') onOverlay(command);
    for (const shortcut of shortcuts)
      if (shortcut.command === command && 'to' in shortcut)
        void router.navigate({ to: shortcut.to });
  });
  useEffect(() => {
    document.addEventListener('keydown', follow);
    return () => document.removeEventListener('keydown', follow);
  }, []);
  return (
    <Suspense>
      {shown === 'palette' ? (
        <Palette onClose={close} onShowKeys={() => onOverlay('sheet')} />
      ) : null}
      {shown === 'sheet' ? <KeySheet singleKeys={singleKeys} onClose={close} /> : null}
    </Suspense>
  );
}

/** An event's own fields are not enumerable. */
function plain({ key, ctrlKey, metaKey, altKey, repeat }: KeyboardEvent) {
  return { key, ctrlKey, metaKey, altKey, repeat };
}
