import type { ReactNode } from 'react';
import { Section } from '#web/features/profile/section.tsx';

/** `children` is the switch of the theme. */
export function AppearanceSection({ children }: { children: ReactNode }): ReactNode {
  return (
    <Section title="Appearance" about="Kept on this device only.">
      {children}
    </Section>
  );
}
