import type { ReactNode } from 'react';
import { locales } from '#services/identity/contract/locales.ts';
import type { Preferences, PreferencesChange } from '#services/identity/contract/preferences.ts';
import { figure } from '#services/platform/numbers.ts';
import { Outcome } from '#web/features/profile/outcome.tsx';
import { Section } from '#web/features/profile/section.tsx';
import { useAction } from '#web/features/profile/use-action.ts';
import { setDisplay, themeWords, useDisplay } from '#web/ui/display.ts';
import { Choice } from '#web/ui/form/choice.tsx';
import { Checkbox, SelectField } from '#web/ui/form/field.tsx';
import { moment } from '#web/ui/text/day.ts';

const motionWords = { system: 'System', reduced: 'Reduced', full: 'Full' } as const;
const densityWords = { comfortable: 'Comfortable', compact: 'Compact' } as const;

/** The example's moment and number: no two parts of either look alike. */
const example = { at: '2026-11-23T15:04:00', value: 12_345.6 } as const;

/**
 * How pages look, move and write. A change applies at once; `onSave` keeps what no cookie of this
 * device holds.
 */
export function AppearanceSection({
  preferences,
  onSave,
}: {
  preferences: Preferences;
  onSave: (change: PreferencesChange) => Promise<void>;
}): ReactNode {
  const { run, busy, done, failure } = useAction();
  const { locale, single_keys: singleKeys } = preferences;
  const save = (change: PreferencesChange, success: string): void =>
    run(async () => {
      await onSave(change);
      return success;
    });
  return (
    <Section id="appearance" title="Appearance" about="Applies wherever you're signed in.">
      <Choice
        label="Theme"
        words={themeWords}
        value={useDisplay('theme')}
        onChange={(theme) => setDisplay('theme', theme)}
      />
      <Choice
        label="Motion"
        words={motionWords}
        value={useDisplay('motion')}
        onChange={(motion) => setDisplay('motion', motion)}
      />
      <Choice
        label="Density"
        words={densityWords}
        value={useDisplay('density')}
        onChange={(density) => setDisplay('density', density)}
      />
      <SelectField
        label="Dates and numbers"
        name="locale"
        hint={`${moment(example.at, { dateStyle: 'long', timeStyle: 'short' }, locale ?? undefined)} · ${figure(example.value, locale ?? undefined)}`}
        value={locale ?? ''}
        aria-busy={busy || undefined}
        onChange={({ target }) =>
          save(
            { locale: locales.find((one) => one === target.value) ?? null },
            'Dates and numbers changed.',
          )
        }
      >
        <option value="">As in your browser</option>
        {locales.map((one) => (
          <option key={one} value={one}>
            {localeName(one)}
          </option>
        ))}
      </SelectField>
      <Checkbox
        label="Single-key shortcuts"
        name="single_keys"
        hint="Such as n for a new optimization. Ctrl+K or ⌘K always works."
        checked={singleKeys}
        aria-busy={busy || undefined}
        onChange={({ target: { checked } }) =>
          save(
            { single_keys: checked },
            checked ? 'Single-key shortcuts are on.' : 'Single-key shortcuts are off.',
          )
        }
      />
      <Outcome done={done} failure={failure} title="We couldn't save your choice" />
    </Section>
  );
}

/** "German (Austria)". */
function localeName(locale: string): string {
  return (
    new Intl.DisplayNames('en', { type: 'language', languageDisplay: 'standard' }).of(locale) ??
    locale
  );
}
