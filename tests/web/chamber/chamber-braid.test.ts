import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  braidHeight,
  braidPadding,
  braidStrands,
  braidWidth,
  reachOf,
  type Strand,
  strandAt,
  strandPaths,
  type StrandSeat,
} from '#web/run/braid-shape.ts';
import { braidOf, braidSentence, standing } from '#web/run/braid-view.ts';
import { moneyWords } from '#services/optimizations/reading/words/money.ts';
import {
  cancel,
  closed,
  created,
  inReviews,
  inSynthesis,
  opinionsOf,
  reviewBy,
  reviewsOf,
  allSeats,
  started,
} from '#tests/optimizations/run/run-script.ts';
import { storyOf } from '#tests/web/support/run-story.ts';

const seatCount = fc.integer({ min: 3, max: 12 });
const camp = fc.constantFrom('o1', 'o2', 'o3', null);

/** Placements in order: + or 0 with the modal decision, − or 0 against it, none without a vote. */
const voted = seatCount.chain((count) =>
  fc.tuple(
    ...Array.from({ length: count }, (_none, index) =>
      fc
        .record({ camp, size: fc.nat(10_000), progress: fc.nat(100) })
        .map(({ camp: option, size, progress }): StrandSeat => ({
          seat: `S${index + 1}`,
          progress,
          camp: option,
          placement: option === null ? null : (option === 'o1' ? size : -size) / 10_000,
        })),
    ),
  ),
);

const drawn = (seats: readonly StrandSeat[], twoCamps = false): Strand[] =>
  braidStrands(seats, { modal: 'o1', twoCamps });

describe('the braid', () => {
  it('the strands run straight before votes exist', () => {
    fc.assert(
      fc.property(seatCount, fc.nat(100), (count, progress) => {
        const seats = Array.from({ length: count }, (_none, index) => ({
          seat: `S${index}`,
          progress,
          placement: null,
          camp: null,
        }));
        for (const strand of braidStrands(seats, { modal: null, twoCamps: false })) {
          expect(strand.to).toBe(strand.from);
          expect(`${strandPaths(strand).drawn}${strandPaths(strand).rest}`).not.toContain('C');
        }
      }),
    );
  });

  it('the strands stay inside the frame', () => {
    fc.assert(
      fc.property(voted, fc.boolean(), (seats, twoCamps) => {
        const height = braidHeight(seats.length);
        for (const strand of drawn(seats, twoCamps)) {
          for (const end of [strand.from, strand.to]) {
            expect(end).toBeGreaterThanOrEqual(braidPadding - 1e-6);
            expect(end).toBeLessThanOrEqual(height - braidPadding + 1e-6);
          }
          expect(strand.reach).toBeGreaterThanOrEqual(0);
          expect(strand.reach).toBeLessThanOrEqual(braidWidth);
        }
      }),
    );
  });

  it('the strands of voters keep their distance at the end', () => {
    fc.assert(
      fc.property(voted, fc.boolean(), (seats, twoCamps) => {
        const ends = drawn(seats, twoCamps)
          .filter((_strand, index) => seats[index]?.placement !== null)
          .map((strand) => strand.to)
          .toSorted((one, other) => one - other);
        for (let place = 1; place < ends.length; place += 1)
          expect((ends[place] ?? 0) - (ends[place - 1] ?? 0)).toBeGreaterThanOrEqual(7 - 1e-6);
      }),
    );
  });

  it('two camps are drawn as two ropes, the modal one above', () => {
    fc.assert(
      fc.property(voted, (seats) => {
        const strands = drawn(seats, true);
        const ends = (isModal: boolean): number[] =>
          strands
            .filter(
              (_strand, index) =>
                seats[index]?.placement !== null && (seats[index]?.camp === 'o1') === isModal,
            )
            .map((strand) => strand.to);
        const [above, below] = [ends(true), ends(false)];
        if (above.length === 0 || below.length === 0) return;
        expect(Math.min(...below) - Math.max(...above)).toBeGreaterThanOrEqual(30 - 1e-6);
      }),
    );
  });

  it('the ends are ordered by the distance of each seat from the majority', () => {
    fc.assert(
      fc.property(voted, (seats) => {
        const strands = drawn(seats);
        const placed = seats.flatMap(({ placement }, index) =>
          placement === null ? [] : [{ placement, end: strands[index]?.to ?? 0 }],
        );
        const pairs = placed.flatMap((one) => placed.map((other) => [one, other] as const));
        const wrong = pairs.filter(
          ([one, other]) => one.placement > other.placement && one.end >= other.end,
        );
        expect(wrong).toEqual([]);
      }),
    );
  });

  it('the braid is drawn up to the progress, and the rest continues from there', () => {
    fc.assert(
      fc.property(voted, (seats) => {
        for (const strand of drawn(seats)) {
          const { drawn: line, rest } = strandPaths(strand);
          const y = Math.round(strandAt(strand, strand.reach) * 100) / 100;
          const joint = `M${Math.round(strand.reach * 100) / 100} ${y}`;
          expect(line === '').toBe(strand.reach === 0);
          expect(rest === '').toBe(strand.reach === braidWidth);
          expect(rest === '' || rest.startsWith(joint)).toBe(true);
        }
      }),
    );
  });

  it('each column stands for its share of the progress', () => {
    expect([0, 20, 40, 75, 80, 85, 100].map(reachOf)).toEqual([0, 125, 250, 500, 625, 750, 1000]);
  });

  it('the braid never moves backwards as the progress grows', () => {
    fc.assert(
      fc.property(fc.nat(99), (progress) => {
        expect(reachOf(progress + 1)).toBeGreaterThan(reachOf(progress));
      }),
    );
  });
});

describe('the braid of a run', () => {
  it('no seat shows a side before the reviews are counted', () => {
    const view = braidOf(storyOf(inReviews()).view());
    expect(view.hasVotes).toBe(false);
    expect(view.seats.every((seat) => seat.placement === null)).toBe(true);
    expect(braidSentence(view)).toBe('7 models, no votes counted.');
  });

  it('a run before its first call is shown as getting ready', () => {
    expect(braidOf(storyOf(started()).view()).isGettingReady).toBe(true);
    expect(braidOf(storyOf(inReviews()).view()).isGettingReady).toBe(false);
  });

  it('a draft that was cancelled shows that no model was called and nothing was held', () => {
    const story = storyOf(created().given(cancel));
    const view = braidOf(story.view());
    expect(view.isGettingReady).toBe(false);
    expect(braidSentence(view)).toBe('No model was asked.');
    for (const seat of view.seats)
      expect(seat).toMatchObject({ status: 'Not called', step: 'Was not asked', progress: 0 });
    expect(moneyWords(story.copy().credits)).toBe(
      'The run was never started, so nothing was charged.',
    );
  });

  it('the strand of a seat that dropped out ends in its first column, with the reason', () => {
    const script = started()
      .died(['opinion.R2'])
      .answered(opinionsOf(['S1', 'S2']));
    const seat = braidOf(storyOf(script).view()).seats.find((one) => one.seat === 'R2');
    expect(seat?.ended).toBe('The model declined to answer this question');
    expect(reachOf(seat?.progress ?? 100)).toBeLessThan(braidWidth / 4);
  });

  it('every voter is placed once the votes are counted, with the size of the majority', () => {
    const dissenters = ['R1', 'R2'];
    const script = inReviews().answered(reviewsOf(allSeats), (slot, state) => {
      if (!('order' in state)) throw new Error('Reviews have an order');
      const seat = slot.slice('review.'.length);
      return reviewBy(state, seat, { optionId: dissenters.includes(seat) ? 'o2' : 'o1' });
    });
    const view = braidOf(storyOf(script).view());
    expect(view.hasVotes).toBe(true);
    expect(view.seats.every((seat) => seat.placement !== null)).toBe(true);
    expect(braidSentence(view)).toBe('5 of 7 models voted for “The option o1”.');
    expect(view.seats.map((seat) => standing(seat, view).split(';')[0])).toEqual(
      allSeats.map((seat) => `Voted for “The option ${dissenters.includes(seat) ? 'o2' : 'o1'}”`),
    );
  });

  it('the strands arrive when the run is completed', () => {
    expect(braidOf(storyOf(inSynthesis()).view()).seats[0]?.progress).toBeLessThan(100);
    expect(braidOf(storyOf(closed()).view()).seats[0]?.progress).toBe(100);
  });
});
