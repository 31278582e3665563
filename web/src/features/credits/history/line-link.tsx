import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Transaction } from '#services/credits/contract.ts';
import { lineTarget } from './transaction-words.ts';

const look = 'link -mt-1 inline-block py-1 font-medium';

/** What a line of the ledger is about, as a link to its run or its purchase when it has one. */
export function LineLink({ line }: { line: Transaction }): ReactNode {
  const target = lineTarget(line);
  if (target === null) return <span className="font-medium">{line.description}</span>;
  return target.kind === 'run' ? (
    <Link to="/optimizations/$id" params={{ id: target.runId }} className={look}>
      {line.description}
    </Link>
  ) : (
    <Link
      to="/credits"
      hash={target.anchor}
      // On the credits page itself every such link would else count as that of the present page.
      activeOptions={{ includeHash: true }}
      className={look}
    >
      {line.description}
    </Link>
  );
}
