import type { ReactNode } from 'react';
import { passwordRules } from '#services/identity/contract/forms.ts';
import { classNames } from '#web/ui/class-names.ts';

/** The rules of a new password, ticked off as it is typed. */
export function PasswordChecklist({ password }: { password: string }): ReactNode {
  return (
    <div className="space-y-2 text-sm">
      <ul aria-label="Password rules" className="grid grid-cols-1 gap-x-4 gap-y-1 sm:grid-cols-2">
        {passwordRules.map((rule) => (
          <Rule key={rule.id} met={rule.met(password)} words={rule.words} />
        ))}
      </ul>
      <p className="text-ink-3">{strengthHint(password)}</p>
    </div>
  );
}

function Rule({ met, words }: { met: boolean; words: string }): ReactNode {
  return (
    <li className={classNames('flex items-center gap-2', met ? 'text-ok' : 'text-ink-3')}>
      <svg
        viewBox="0 0 16 16"
        width="16"
        height="16"
        fill="none"
        stroke="currentColor"
        aria-hidden="true"
      >
        {met ? (
          <path d="m3 8.5 3.5 3.5L13 5" strokeWidth="2" strokeLinecap="round" />
        ) : (
          <circle cx="8" cy="8" r="3" strokeWidth="1.5" />
        )}
      </svg>
      <span className="sr-only">{met ? 'Met: ' : 'Missing: '}</span>
      {words}
    </li>
  );
}

/** A hint, not a rule: a password below fifteen characters is accepted. */
function strengthHint(password: string): string {
  if (!passwordRules.every((rule) => rule.met(password))) {
    return 'A few unrelated words are easier to remember than symbols.';
  }
  return password.length < 15
    ? "Meets every rule. With 15 characters or more, it's much harder to guess."
    : "Meets every rule, and it's long.";
}
