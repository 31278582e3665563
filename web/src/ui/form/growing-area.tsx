import type { ComponentProps, ReactNode } from 'react';
import { classNames } from '#web/ui/class-names.ts';

/**
 * A text area as tall as its text, up to most of the window. Its copy behind it has the height from
 * the first paint, in every browser.
 */
export function GrowingArea({
  value,
  className,
  ...area
}: Omit<ComponentProps<'textarea'>, 'value'> & { value: string }): ReactNode {
  return (
    <span
      // The mark of no width gives an empty last line its height.
      data-text={`${value}\u200b`}
      className="grid min-w-0 grow after:invisible after:max-h-[70vh] after:overflow-hidden after:border after:px-3 after:py-2 after:text-base after:whitespace-pre-wrap after:wrap-anywhere after:content-[attr(data-text)] after:[grid-area:1/1]"
    >
      <textarea
        {...area}
        value={value}
        className={classNames(className, 'resize-none wrap-anywhere [grid-area:1/1]')}
      />
    </span>
  );
}
