import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Transaction } from '#services/credits/contract.ts';
import { lineTarget } from './transaction-words.ts';

const linkClasses = 'link -mt-1 inline-block py-1 font-medium';

/** The subject of a line, as a link to its run or purchase when it has one. */
export function LineLink({ line }: { line: Transaction }): ReactNode {
  const target = lineTarget(line);
  if (target === null) return <span className="font-medium">{line.description}</span>;
  return target.kind === 'run' ? (
    <Link to="/optimizations/$id" params={{ id: target.runId }} className={linkClasses}>
      {line.description}
    </Link>
  ) : (
    <Link
      to="/credits"
      hash={target.anchor}
      // On the credits page itself every such link would count as the current page.
      activeOptions={{ includeHash: true }}
      className={linkClasses}
    >
      {line.description}
    </Link>
  );
}
