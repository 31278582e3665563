import type { ReactNode } from 'react';
import { analyticsUrl } from '#web/app/product.ts';
import { openSettings } from '#web/consent/banner.ts';
import { chosenAt } from '#web/consent/choose.ts';
import { useAllowed } from '#web/consent/consent.ts';
import { Button } from '#web/ui/form/button.tsx';
import { Section } from '#web/features/profile/section.tsx';
import { day } from '#web/ui/text/day.ts';

const words = {
  functional: [
    'Drafts and views are kept on this device.',
    'Drafts last until you close the page.',
  ],
  analytics: ['Visits are measured.', 'Visits are not measured.'],
} as const;

/** What this browser may keep. The choice belongs to the device, not to the account. */
export function ConsentSection(): ReactNode {
  const allowed = useAllowed();
  const at = allowed === null ? null : chosenAt();
  return (
    <Section title="Cookies and consent" about="Saved on this device only.">
      {allowed === null ? (
        <p>You have not chosen yet, so only what is necessary is kept.</p>
      ) : (
        <ul className="list-disc space-y-1 ps-5">
          {(['functional', 'analytics'] as const)
            .filter((purpose) => purpose !== 'analytics' || analyticsUrl !== undefined)
            .map((purpose) => (
              <li key={purpose}>{words[purpose][allowed[purpose] ? 0 : 1]}</li>
            ))}
        </ul>
      )}
      {at === null ? null : (
        <p className="text-sm text-ink-3">
          Chosen on <time dateTime={at}>{day(at)}</time>
        </p>
      )}
      <div className="flex flex-wrap items-center gap-4">
        <Button onClick={openSettings}>Change choice</Button>
        <a href="/cookies" className="link">
          Every cookie and key we keep
        </a>
      </div>
    </Section>
  );
}
