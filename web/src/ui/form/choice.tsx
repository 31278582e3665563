import { type ReactNode, useId } from 'react';

/** One of a few words, side by side. */
export function Choice<Word extends string>({
  label,
  isLabelHidden = false,
  words,
  value,
  onChange,
}: {
  label: string;
  /** Only read out, where the words explain themselves. */
  isLabelHidden?: boolean;
  /** In order; the key is the value. */
  words: Readonly<Record<Word, string>>;
  value: Word;
  onChange: (word: Word) => void;
}): ReactNode {
  const group = useId();
  return (
    <fieldset className="flex min-w-0 flex-wrap items-center gap-x-3">
      <legend
        className={isLabelHidden ? 'sr-only' : 'float-start me-3 min-w-14 text-sm text-ink-3'}
      >
        {label}
      </legend>
      <div className="inline-flex flex-wrap rounded-full border border-line-strong p-0.5">
        {(Object.keys(words) as Word[]).map((word) => (
          <label
            key={word}
            className="relative inline-flex min-h-10 cursor-pointer items-center rounded-full px-3 text-sm text-ink-2 has-checked:bg-accent-soft has-checked:font-semibold has-checked:text-ink has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
          >
            <input
              type="radio"
              name={group}
              value={word}
              checked={value === word}
              onChange={() => onChange(word)}
              className="absolute inset-0 cursor-pointer opacity-0"
            />
            {words[word]}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
