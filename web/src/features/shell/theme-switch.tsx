import type { ReactNode } from 'react';
import { setDisplay, themeWords, useDisplay } from '#web/ui/display.ts';
import { Choice } from '#web/ui/form/choice.tsx';

export function ThemeSwitch(): ReactNode {
  return (
    <Choice
      label="Theme"
      words={themeWords}
      value={useDisplay('theme')}
      onChange={(theme) => setDisplay('theme', theme)}
    />
  );
}
