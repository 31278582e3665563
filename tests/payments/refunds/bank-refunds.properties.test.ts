import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { CreditCommand } from '#services/credits/account/account.ts';
import type { RefundView } from '#services/payments/provider.ts';
import { expected, stands } from '#services/payments/settle/expected.ts';
import type { GrantedPayment } from '#services/payments/purchases/rows.ts';
import { createBus } from '#tests/credits/ledger-model.ts';

/** One payment, its lot, and both kinds of refunds: by the bank, and ours on request. */
type Move =
  | { do: 'bank'; share: number; isHeard: boolean }
  | { do: 'bank-fails'; which: number }
  | { do: 'ask' }
  | { do: 'end'; which: number; outcome: 'succeeded' | 'failed' }
  | { do: 'use'; credits: number }
  | { do: 'hold'; credits: number }
  | { do: 'settle'; which: number; captures: boolean }
  | { do: 'hear' };

const index = fc.nat({ max: 9 });
const credits = fc.integer({ min: 1, max: 30 });
const anyMove: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('bank' as const),
      share: fc.integer({ min: 0, max: 100 }),
      isHeard: fc.boolean(),
    }),
  },
  fc.record({ do: fc.constant('bank-fails' as const), which: index }),
  { weight: 3, arbitrary: fc.record({ do: fc.constant('ask' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which: index,
      outcome: fc.constantFrom('succeeded' as const, 'failed' as const),
    }),
  },
  fc.record({ do: fc.constant('use' as const), credits }),
  fc.record({ do: fc.constant('hold' as const), credits }),
  fc.record({ do: fc.constant('settle' as const), which: index, captures: fc.boolean() }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('hear' as const) }) },
);

const at = '2026-11-20T10:00:00.000Z';

class World {
  private readonly bus = createBus();
  private sent = 0;
  readonly refunds: RefundView[] = [];
  isHeard = true;
  private count = 0;
  private readonly payment: GrantedPayment;

  constructor({ granted, paidMinor }: { granted: number; paidMinor: number }) {
    this.payment = {
      userId: 'usr_1',
      purchaseId: 'pur_1',
      lotId: 'lot_1',
      intentId: 'pi_1',
      granted,
      paidMinor,
    };
    this.send({
      type: 'Grant',
      lotId: 'lot_1',
      credits: granted,
      source: 'purchase',
      paidMinor,
      currency: 'usd',
      paymentKey: 'pi:pi_1',
      purchaseId: 'pur_1',
      grantedAt: at,
      reason: 'boost-20',
    });
  }

  get state() {
    return this.bus.state();
  }

  get lot() {
    const [lot] = this.state.lots;
    if (!lot) throw new Error('There is no lot');
    return lot;
  }

  /** The part of the payment that the provider would still refund. */
  get left(): number {
    const gone = this.refunds.filter(({ status }) => status !== 'failed');
    return this.payment.paidMinor - gone.reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  }

  /** Whether it was accepted, and changed anything. */
  send(command: CreditCommand): boolean {
    this.sent += 1;
    return this.bus.send(`command ${this.sent}`, command).kind === 'done';
  }

  hear(): void {
    const should = expected({
      payment: this.payment,
      account: this.state,
      refunds: this.refunds,
      disputes: [],
      refused: new Set(),
      now: Date.parse(at),
    });
    for (const clawback of should.clawbacks)
      if (!stands(this.lot, clawback))
        while (this.send({ type: 'SetClawback', lotId: 'lot_1', ...clawback }));
    this.isHeard = true;
  }

  play(move: Move): void {
    this.count += 1;
    switch (move.do) {
      case 'bank': {
        const amount = Math.ceil((this.left * move.share) / 100);
        if (amount > 0) this.refund(null, amount, 'succeeded');
        this.isHeard = false;
        if (move.isHeard) this.hear();
        return;
      }
      case 'bank-fails': {
        const banks = this.refunds.filter(({ refundId }) => refundId === null);
        this.move(banks[move.which], 'failed');
        return this.hear();
      }
      case 'ask':
        return this.ask(`ref_${this.count}`);
      case 'end':
        return this.end(move);
      case 'use':
        this.send({
          type: 'Consume',
          consumptionId: `con_${this.count}`,
          credits: move.credits,
          sealed: { note: 'sealed' },
        });
        return;
      case 'hold':
        this.send({
          type: 'Reserve',
          runId: `opt_${this.count}`,
          credits: move.credits,
          month: '2026-11',
          limit: -1,
        });
        return;
      case 'settle': {
        const [runId, hold] = Object.entries(this.state.holds)[move.which] ?? [];
        if (runId !== undefined && hold)
          this.send({
            type: 'Settle',
            runId,
            settlement: move.captures
              ? { kind: 'capture', capture: hold.credits, refund: Math.floor(hold.credits / 2) }
              : { kind: 'release' },
          });
        return;
      }
      case 'hear':
        return this.hear();
    }
  }

  private ask(refundId: string): void {
    const command: CreditCommand = {
      type: 'RequestRefund',
      refundId,
      lotId: 'lot_1',
      requestedAt: at,
      reason: 'customer',
    };
    if (!this.send(command)) return;
    const amount = this.state.refunds[refundId]?.amountMinor ?? 0;
    if (amount <= this.left) {
      this.refund(refundId, amount, 'pending');
      return;
    }
    // Only a refund by the bank that is unknown here can be in the way.
    expect(this.isHeard).toBe(false);
    this.send({ type: 'EndRefund', refundId, outcome: 'failed', providerRefundId: null, at });
    this.hear();
  }

  private end({ which, outcome }: Extract<Move, { do: 'end' }>): void {
    const shown = this.refunds.filter(({ refundId }) => refundId !== null)[which];
    if (!shown || shown.status === 'failed') return;
    this.move(shown, outcome);
    this.send({
      type: 'EndRefund',
      refundId: shown.refundId ?? '',
      outcome: outcome === 'succeeded' ? 'confirmed' : 'failed',
      providerRefundId: shown.providerRefundId,
      at,
    });
    this.hear();
  }

  private refund(refundId: string | null, amountMinor: number, status: RefundView['status']): void {
    this.refunds.push({
      providerRefundId: `re_${this.count}`,
      refundId,
      intentId: 'pi_1',
      chargeId: 'ch_1',
      amountMinor,
      currency: 'usd',
      status,
      failure: null,
      createdAt: Date.parse(at),
    });
  }

  private move(shown: RefundView | undefined, status: RefundView['status']): void {
    const place = shown ? this.refunds.indexOf(shown) : -1;
    if (shown && place >= 0) this.refunds[place] = { ...shown, status };
  }
}

const anyPayment = fc.record({
  granted: fc.integer({ min: 1, max: 60 }),
  paidMinor: fc.integer({ min: 1, max: 2_000 }),
});

test('a bank and we never give back more than a payment, and the rest can be asked for', () => {
  fc.assert(
    fc.property(anyPayment, fc.array(anyMove, { maxLength: 25, size: 'max' }), (payment, moves) => {
      const world = new World(payment);
      for (const move of moves) {
        world.play(move);
        expect(world.left).toBeGreaterThanOrEqual(0);
      }
      world.hear();
      for (const runId of Object.keys(world.state.holds))
        world.send({ type: 'Settle', runId, settlement: { kind: 'release' } });
      const { lot } = world;
      const rest = Math.floor((payment.paidMinor * lot.available) / payment.granted);
      expect(rest).toBeLessThanOrEqual(world.left);
      const isFree = rest > 0 && lot.cashPending === 0 && world.state.balance.debt === 0;
      const asked = world.send({
        type: 'RequestRefund',
        refundId: 'ref_rest',
        lotId: 'lot_1',
        requestedAt: at,
        reason: 'customer',
      });
      expect(asked).toBe(isFree);
      expect(world.state.refunds['ref_rest']?.amountMinor ?? rest).toBe(rest);
    }),
    { numRuns: 500 },
  );
});
