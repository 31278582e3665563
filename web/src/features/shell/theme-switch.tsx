import { type ReactNode, useId } from 'react';
import { setTheme, type Theme, useTheme } from './theme.ts';

const choices: readonly { theme: Theme; word: string }[] = [
  { theme: 'system', word: 'System' },
  { theme: 'light', word: 'Light' },
  { theme: 'dark', word: 'Dark' },
];

export function ThemeSwitch(): ReactNode {
  const theme = useTheme();
  const group = useId();
  return (
    <fieldset className="flex flex-wrap items-center gap-x-3">
      <legend className="float-start me-3 text-sm text-ink-3">Theme</legend>
      <div className="inline-flex flex-wrap rounded-full border border-line-strong p-0.5">
        {choices.map((choice) => (
          <label
            key={choice.theme}
            className="relative inline-flex min-h-10 cursor-pointer items-center rounded-full px-3 text-sm text-ink-2 has-checked:bg-accent-soft has-checked:font-semibold has-checked:text-ink has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              name={group}
              value={choice.theme}
              checked={theme === choice.theme}
              onChange={() => setTheme(choice.theme)}
              className="absolute inset-0 cursor-pointer opacity-0"
            />
            {choice.word}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
