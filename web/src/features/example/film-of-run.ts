import { answerCall } from '#services/optimizations/reading/view.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import { braidOf } from '#web/run/braid-view.ts';
import { type Film, type FilmSeat, type FilmVote, parts } from './film.ts';
import { type Recording, type RunEvent, viewsOf } from './recording.ts';

/**
 * Makes the film of a recording, in the product's own words: what the API says of the run and what
 * the chamber draws of it. Used by the build and by tests, never by a page.
 * @throws when the recording lacks something that the film shows
 */
export function filmOf(recording: Recording): Film {
  const views = viewsOf(recording);
  const view = views.at(-1) ?? missing('events');
  const run = describeRun(view, Date.parse(view.endedAt ?? missing('its end')));
  const result = run.result ?? missing('a result');
  const { bias } = run.evolution;
  const drawn = views.map(braidOf);
  const braid = drawn.at(-1);
  const { ledger } = view;
  const flaw = result.flaws[0];
  const divided = bias?.disagreement_areas.find(({ about }) => about === 'decision');
  if (!braid || !ledger || !bias || !flaw || !divided) return missing('a divided vote with a flaw');
  const laneOf = (code: string | undefined): number =>
    braid.seats.findIndex(({ seat }) => seat === code);
  const votes = divided.sides
    .map(({ stance, seats, quote }) => ({
      text: stance,
      seats,
      reason: quote?.text ?? missing('a reason of each side'),
    }))
    .toSorted(
      (one, other) =>
        other.seats.length - one.seats.length || laneOf(one.seats[0]) - laneOf(other.seats[0]),
    );
  const end = endsOf(braid.seats, votes);

  /** The first event that `is` the one, and how far a seat is drawn after it. */
  const moment = (is: (event: RunEvent) => boolean, seat = 0): readonly [number, number] => {
    const index = recording.events.findIndex(({ event }) => is(event));
    const at = recording.events[index]?.afterMs ?? missing('an event');
    return [at, drawn[index]?.seats[seat]?.progress ?? 0];
  };
  const call = (type: 'CallStarted' | 'CallSucceeded', slot: string, seat?: number) =>
    moment((event) => event.type === type && event.data.slot === slot, seat);

  const [countedAt] = moment(({ type }) => type === 'ScoresComputed');
  const [endedAt] = moment(({ type }) => type === 'OptimizationCompleted');

  const seats = braid.seats.map(({ seat, name, role }, index): FilmSeat => {
    const answered = call('CallSucceeded', `opinion.${seat}`, index);
    const reviewed = call('CallSucceeded', `review.${seat}`, index);
    return {
      seat,
      name,
      role,
      answer: answerCall(view, seat)?.opinion?.recommendation.one_line ?? missing('an answer'),
      answeredAt: answered[0],
      reviewedAt: reviewed[0],
      progress: [
        call('CallStarted', `opinion.${seat}`, index),
        answered,
        call('CallStarted', `review.${seat}`, index),
        reviewed,
        [countedAt, reviewed[1]],
        call('CallStarted', 'draft.1', index),
        [endedAt, 100],
      ],
      ...end(seat),
    };
  });
  const answers = seats.map(({ answeredAt }) => answeredAt);
  const reviews = seats.map(({ reviewedAt }) => reviewedAt);
  const answeredAt = (code: string): number =>
    seats.find(({ seat }) => seat === code)?.answeredAt ?? 0;
  const options = Object.entries(ledger.options)
    .filter(([, { seats: by }]) => by.length > 0)
    .map(([, { seats: by, text }]) => ({
      // In the order of their answers.
      seats: by.toSorted((one, other) => answeredAt(one) - answeredAt(other)),
      text: text ?? missing('an option'),
    }))
    .toSorted((one, other) => other.seats.length - one.seats.length);

  return {
    title: view.title ?? missing('a title'),
    challenge: view.challenge ?? missing('a question'),
    context: view.context ?? missing('a context'),
    seats,
    options,
    votes,
    objection: {
      text: flaw.texts[0]?.text ?? missing('an objection'),
      seats: flaw.reviewers,
      reply: flaw.reply ?? missing('a reply'),
    },
    agreement: bias.agreement_score,
    claims: { all: Object.keys(ledger.claims).length, agreed: bias.consensus_points.length },
    outcome: run.outcome ?? missing('an outcome'),
    decision: result.decision ?? missing('a decision'),
    countedAt,
    pace: [
      [parts[0], 0],
      [parts[0] + 1_500, Math.min(...answers)],
      [parts[1] - 500, Math.max(...answers)],
      [parts[1], call('CallStarted', `review.${seats[0]?.seat}`)[0]],
      [parts[1] + 1_500, Math.min(...reviews)],
      [parts[2], countedAt],
      [parts[3], call('CallStarted', 'draft.1')[0]],
      [parts[4], endedAt],
    ],
  };
}

/**
 * Where each strand ends. Those of the chosen option end as one rope; each dissenter ends apart, under
 * its name, on the side where most dissenters start.
 */
function endsOf(
  seats: readonly { readonly seat: string; readonly name: string }[],
  votes: readonly FilmVote[],
): (seat: string) => Pick<FilmSeat, 'placement' | 'mark'> {
  const [chosen] = votes;
  const rope = seats.filter(({ seat }) => chosen?.seats.includes(seat));
  const apart = seats.filter((one) => !rope.includes(one));
  const lanes = apart.map((one) => seats.indexOf(one) - (seats.length - 1) / 2);
  const side = lanes.reduce((sum, lane) => sum + lane, 0) > 0 ? -1 : 1;
  const fromOutside = side === 1 ? apart : apart.toReversed();
  return (code) => {
    const place = fromOutside.findIndex(({ seat }) => seat === code);
    if (place === -1)
      return {
        placement: -side / 2,
        mark: rope[0]?.seat === code ? `${rope.length} of ${seats.length}` : null,
      };
    const share = place / Math.max(1, fromOutside.length - 1);
    return { placement: side * (1 - 0.7 * share), mark: fromOutside[place]?.name ?? null };
  };
}

function missing(what: string): never {
  throw new Error(`The recorded run has not ${what}`);
}
