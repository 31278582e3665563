import { seededInteger } from '#services/platform/seeded.ts';
import { claimStated, optionsOf } from '#services/sandbox/models/cases.ts';
import type { CaseClaim, CaseOption, PreparedCase } from '#services/sandbox/models/cases.ts';
import type { Material } from './material.ts';
import type { ReviewReply, Stance } from './review.ts';

/** A seat's second vote, in the shape of `second_vote`. */
export type SecondVoteReply = Pick<ReviewReply, 'votes'> & {
  decision_vote: { option_id: string; reason: string };
};

/** @property voice a number of the voter's own from 0, so that no two say a sentence alike */
type Voter = { seed: string; model: string; voice: number };
type Draw = (purpose: string) => number;
type Earlier = { vote: string; reason: string };

/** What one says who is moved by something new: a beginning and an end give a sentence each. */
const words = {
  en: {
    since: [
      'With what you say now,',
      'In your case as you now describe it,',
      'On the facts as they are now,',
      'Taking your word for it,',
      'After this change,',
    ],
    disagree: [
      'this no longer holds.',
      'the sum behind this comes out differently.',
      'the reason for this is gone.',
      'I cannot support this as it stands.',
    ],
    unsure: [
      'whether this still holds is open.',
      'this would have to be counted again.',
      'I can no longer say either way.',
      'I would need the exact figures again.',
    ],
    decision: [
      'my first choice loses its main reason.',
      'the balance tips to this option.',
      'this option has more to say for it.',
      'I would no longer choose as I did.',
    ],
  },
  // cspell:disable
  de: {
    since: [
      'Mit dem, was Sie jetzt sagen,',
      'In Ihrem Fall, wie er jetzt beschrieben ist,',
      'Nach dem neuen Stand',
      'Wenn ich Ihre Angabe übernehme,',
      'Nach dieser Änderung',
    ],
    disagree: [
      'gilt das nicht mehr.',
      'geht die Rechnung dahinter anders aus.',
      'fehlt der Grund dafür.',
      'lässt sich das so nicht halten.',
    ],
    unsure: [
      'ist offen, ob das noch gilt.',
      'müsste das neu gerechnet werden.',
      'lässt sich das nicht mehr sagen.',
      'bräuchte ich die genauen Zahlen noch einmal.',
    ],
    decision: [
      'verliert meine erste Wahl ihren wichtigsten Grund.',
      'spricht mehr für diese Option.',
      'neigt sich die Waage zu dieser Option.',
      'würde ich nicht mehr so wählen wie zuvor.',
    ],
  },
  // cspell:enable
};

/** So many voices say different sentences. */
export const voices = words.en.since.length * words.en.disagree.length;

/**
 * A seat keeps what it had voted, with its own reason, except where the claim that it agreed with is
 * said to be other now: then it often changes its stance, and its option if the claim carried that.
 */
export function writeSecondVote(
  prepared: PreparedCase,
  { seed, model, voice }: Voter,
  material: Material,
): SecondVoteReply {
  const own = new Map(
    material
      .rows('own votes')
      .map(([id = '', vote = '', ...reason]): [string, Earlier] => [
        id,
        { vote, reason: reason.join(' | ') },
      ]),
  );
  const about = [seed, model, material.block('own votes'), material.block('new')].join('|');
  const draw: Draw = (purpose) => seededInteger(about, purpose, 1_000_000) / 1_000_000;
  const changed = material.block('changed claim');
  const say = words[prepared.language];
  const inOwnWords = (endings: readonly string[]) => {
    const place = voice % voices;
    const ending = endings[Math.floor(place / say.since.length)] ?? '';
    return `${say.since[place % say.since.length] ?? ''} ${ending}`;
  };
  const votes = material.rows('claims').map(([id = '', ...text]) => {
    const earlier = own.get(id);
    const stance = stanceOn(earlier?.vote, id === changed, (purpose) => draw(`${purpose} ${id}`));
    const moved = earlier !== undefined && earlier.vote !== stance;
    return {
      claim_id: id,
      claim: claimStated(prepared, text.join(' | ')),
      moved,
      stance,
      confidence: Math.round(55 + draw(`sure ${id}`) * 40),
      reason: moved && stance !== 'agree' ? inOwnWords(say[stance]) : (earlier?.reason ?? ''),
    };
  });
  const lost = votes.find(({ claim_id, moved }) => moved && claim_id === changed)?.claim ?? null;
  const decided = own.get('decision');
  const id = decisionOf(prepared, material, decided?.vote, lost, draw);
  return {
    votes: votes.map(({ claim: _claim, moved: _moved, ...vote }) => vote),
    decision_vote: {
      option_id: id,
      reason:
        decided === undefined || decided.vote === id
          ? (decided?.reason ?? '')
          : inOwnWords(say.decision),
    },
  };
}

function stanceOn(own: string | undefined, isChanged: boolean, draw: Draw): Stance {
  const before = stances.find((stance) => stance === own);
  if (before === undefined) return draw('first') < 0.8 ? 'agree' : 'unsure';
  if (!isChanged || before === 'disagree' || draw('moves') >= 0.7) return before;
  return draw('where') < 0.75 ? 'disagree' : 'unsure';
}

const stances: readonly Stance[] = ['agree', 'disagree', 'unsure'];

/**
 * The id of an option.
 *
 * @param lost the claim that the seat no longer agrees with
 */
function decisionOf(
  prepared: PreparedCase,
  material: Material,
  own: string | undefined,
  lost: CaseClaim | null,
  draw: Draw,
): string {
  const listed: { id: string; option: CaseOption | null }[] = material
    .rows('options')
    .map(([id = '', ...text]) => ({
      id,
      option: optionsOf(prepared).find(({ label }) => label === text.join(' | ')) ?? null,
    }));
  const before = listed.find(({ id }) => id === own) ?? listed[0] ?? { id: '', option: null };
  const carried = before.option !== null && lost?.supports.includes(before.option.id) === true;
  if (!carried || draw('decision') >= 0.6) return before.id;
  const others = listed.filter(
    ({ option }) => option !== null && !lost.supports.includes(option.id),
  );
  return (others[Math.floor(draw('other') * others.length)] ?? before).id;
}
