import { useEffect, useRef } from 'react';
import type { User } from '#services/identity/contract/session.ts';
import type { PreferencesChange } from '#services/identity/contract/preferences.ts';
import { changeAccount } from '#web/api/account.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import {
  currentDisplay,
  type Display,
  type DisplayName,
  setDisplay,
  subscribeDisplay,
} from '#web/ui/display.ts';
import { showToast } from '#web/ui/feedback/toasts.tsx';

/** Changes these preferences and no others, here and in the other tabs. @throws ApiProblem */
export async function savePreferences(preferences: PreferencesChange): Promise<void> {
  await changeAccount({ preferences });
}

/**
 * Keeps the look of this device and that of the account the same. The account's counts at sign-in,
 * except for a theme that was never chosen there; a change on any page is saved.
 */
export function useSavedDisplay({ preferences }: User): void {
  const { theme, motion, density } = preferences;
  const saving = useRef(0);
  const isApplying = useRef(false);
  useEffect(() => {
    // An older reply must not undo a newer choice.
    if (saving.current > 0) return;
    isApplying.current = true;
    if (theme !== null) follow('theme', theme);
    follow('motion', motion);
    follow('density', density);
    isApplying.current = false;
  }, [theme, motion, density]);
  useEffect(
    () =>
      subscribeDisplay((name) => {
        if (isApplying.current) return;
        saving.current += 1;
        void save(name).finally(() => {
          saving.current -= 1;
        });
      }),
    [],
  );
}

function follow<Name extends DisplayName>(name: Name, word: Display[Name][number]): void {
  if (currentDisplay(name) !== word) setDisplay(name, word);
}

async function save(name: DisplayName): Promise<void> {
  try {
    await savePreferences({ [name]: currentDisplay(name) });
  } catch (error) {
    showToast('warning', "We couldn't save this to your account", {
      message: `It applies on this device only. ${problemSentence(error)}`,
    });
  }
}
