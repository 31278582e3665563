import type { ComponentProps, ReactNode } from 'react';
import { classNames } from './class-names.ts';

export function Card({ className, ...rest }: ComponentProps<'section'>): ReactNode {
  return (
    <section
      {...rest}
      className={classNames('rounded-card border border-line bg-surface p-4 sm:p-6', className)}
    />
  );
}
