import type { AccountState, Debt, Settled } from './state.ts';
import { gapOf, sumOf, takeFrom, without } from './lots.ts';
import type { Clawback, Lot } from './lots.ts';
import type { CreditFact } from './events.ts';

/**
 * How clawbacks on lots take and give back credits. A clawback has a target amount, not a change, so that
 * webhook events about it may arrive twice and in any order. The facts computed here move it towards the
 * target; when there are none, it is consistent.
 *
 * Taking: available credits are revoked, held ones are awaited, and consumed ones become debt. Giving back
 * is the reverse, newest first: open debts are cancelled, settled ones are undone in the lots that had
 * settled them, and only then do revoked credits become available again.
 */

/** A longer chain of settlements is undone from its far end, in several commands. */
const longestChain = 8;

/** Outstanding revocations and debts of clawbacks; there are none between two commands. */
export function clawbacksDue(state: AccountState): CreditFact[] {
  return state.lots.flatMap((lot) => dueIn(lot, debtsOf(state, lot.lotId)));
}

/** The same as sentences; none after a whole command. */
export function unpaidClawbacks(state: AccountState): string[] {
  return clawbacksDue(state).map((fact) => `${fact.type} is due`);
}

/**
 * Available credits go first to debts whose credits are no longer consumed, then to clawbacks, then to the
 * other debts, and last to inquiries, which only freeze. The oldest clawbacks wait for credits that a hold
 * may return: a user should not owe credits and get them back minutes later.
 */
function dueIn(lot: Lot, debts: readonly Debt[]): CreditFact[] {
  const { lotId, available, held, consumed } = lot;
  const owing = gapsOf(lot, true);
  const frozen = gapsOf(lot, false);
  if (debts.length + owing.length + (available === 0 ? 0 : frozen.length) === 0) return [];
  const unbacked = Math.min(available, Math.max(0, sumOf(debts) - consumed));
  const taken = takeFrom(owing, available - unbacked);
  const settled = takeFrom(debts, available - sumOf(taken));
  const froze = takeFrom(frozen, available - sumOf(taken) - sumOf(settled));
  const left = without(owing, sumOf(taken));
  const stillOwed = without(debts, sumOf(settled));
  const coming = held - sumOf(left);
  const used = consumed - sumOf(stillOwed);
  return [
    ...settled.map(({ debt, credits }): CreditFact => ({
      type: 'DebtSettled',
      data: { debt, lotId, credits },
    })),
    ...taken.map((part) => revocation(lotId, part)),
    ...froze.map((part) => revocation(lotId, part)),
    ...takeFrom(stillWanted(lot, stillOwed).toReversed(), Math.max(0, coming)).map(
      ({ debt, credits, ref }): CreditFact => ({
        type: 'DebtCancelled',
        data: { debt, lotId, credits, ref },
      }),
    ),
    ...namedDebts(
      lot,
      stillOwed,
      takeFrom(left.toReversed(), Math.min(Math.max(0, -coming), used)),
    ),
  ];
}

/** Debts of clawbacks that still want them; the other clawbacks are about to give theirs back. */
function stillWanted({ clawbacks }: Lot, debts: readonly Debt[]): Debt[] {
  return debts.filter((debt) =>
    clawbacks.some(
      (clawback) => clawback.ref === debt.ref && clawback.owes && gapOf(clawback) >= 0,
    ),
  );
}

type Gap = Pick<Clawback, 'ref' | 'cause'> & { credits: number };

function gapsOf({ clawbacks }: Lot, owes: boolean): Gap[] {
  return clawbacks.flatMap((clawback) =>
    clawback.owes === owes && gapOf(clawback) > 0
      ? [{ ref: clawback.ref, cause: clawback.cause, credits: gapOf(clawback) }]
      : [],
  );
}

function revocation(lotId: string, { ref, cause, credits }: Gap): CreditFact {
  return { type: 'LotRevoked', data: { lotId, credits, cause, ref } };
}

/** Each clawback has one open debt, which grows; so there are never many. */
function namedDebts(
  { lotId, debts: named }: Lot,
  open: readonly Debt[],
  owed: readonly Gap[],
): CreditFact[] {
  let names = named;
  return owed.map(({ ref, cause, credits }): CreditFact => {
    const known = open.find((debt) => debt.ref === ref);
    if (!known) names += 1;
    const debt = known?.debt ?? `${lotId}:${names}`;
    return { type: 'DebtIncurred', data: { debt, lotId, credits, cause, ref } };
  });
}

/**
 * The next step of giving back a clawback's excess, and the debts of one that no longer owes. Usually one
 * fact, more when lots that settled debts have been clawed back since.
 */
export function nextGivenBack(state: AccountState, lotId: string, ref: string): CreditFact[] {
  const clawback = state.lots
    .find((lot) => lot.lotId === lotId)
    ?.clawbacks.find((candidate) => candidate.ref === ref);
  if (!clawback) return [];
  const excess = -gapOf(clawback);
  const most = clawback.owes ? excess : Number.MAX_SAFE_INTEGER;
  if (most <= 0) return [];
  const debt = debtsOf(state, lotId).findLast((candidate) => candidate.ref === ref);
  if (debt) {
    const credits = Math.min(most, debt.credits);
    return [{ type: 'DebtCancelled', data: { debt: debt.debt, lotId, credits, ref } }];
  }
  const settled = state.settlements.findLast(
    (candidate) => candidate.debtLotId === lotId && candidate.ref === ref,
  );
  if (settled) return undone(state, settled, Math.min(most, settled.credits));
  return excess > 0
    ? [{ type: 'LotReinstated', data: { lotId, credits: excess, cause: clawback.cause, ref } }]
    : [];
}

/** Whether a clawback has given back all that it has to. */
export function isConsistent(state: AccountState, lotId: string, ref: string): boolean {
  return nextGivenBack(state, lotId, ref).length === 0;
}

/**
 * Undoes a settlement: its credits are available again in the lot that had settled. If that lot has been
 * clawed back since and a third lot paid for it, the third lot's settlement is undone first.
 */
function undone(state: AccountState, settled: Settled, credits: number): CreditFact[] {
  const { debtLotId, lotId } = settled;
  const consumed = state.lots.find((lot) => lot.lotId === lotId)?.consumed ?? 0;
  if (lotId === debtLotId || consumed > 0)
    return [reversal(settled, lotId === debtLotId ? credits : Math.min(credits, consumed))];
  const above = state.settlements.findLast(
    (candidate) => candidate.debtLotId === lotId && candidate.lotId !== lotId,
  );
  if (!above) throw new Error(`Nothing is left of what ${lotId} settled`);
  const before = undone(state, above, Math.min(credits, above.credits));
  const last = before.at(-1);
  if (last?.type !== 'DebtSettlementReversed' || before.length >= longestChain) return before;
  return [...before, reversal(settled, last.data.credits)];
}

function reversal({ debt, lotId, ref }: Settled, credits: number): CreditFact {
  return { type: 'DebtSettlementReversed', data: { debt, lotId, credits, ref } };
}

function debtsOf({ debts }: AccountState, lotId: string): Debt[] {
  return debts.filter((debt) => debt.lotId === lotId);
}

/** The most events that one run's settling can cause beside its own. */
export function eventsWaiting(state: AccountState): number {
  return state.lots
    .filter((lot) => lot.held > 0)
    .map((lot) => {
      const gaps = gapsOf(lot, true).length + gapsOf(lot, false).length;
      const debts = debtsOf(state, lot.lotId).length;
      // One clawback may be filled partly by what came back and partly by debt.
      return gaps + debts === 0 ? 0 : gaps + debts + 1;
    })
    .reduce((sum, events) => sum + events, 0);
}
