import { seededInteger } from '#services/platform/seeded.ts';
import { claimStated, optionsOf } from '#services/sandbox/models/cases.ts';
import type { CaseClaim, CaseOption, PreparedCase } from '#services/sandbox/models/cases.ts';
import type { Material } from './material.ts';
import { isShort } from './review.ts';
import type { ReviewReply, Stance } from './review.ts';

/** A seat's second vote, in the shape of `second_vote`. */
export type SecondVoteReply = Pick<ReviewReply, 'votes'> & {
  decision_vote: { option_id: string; reason: string };
};

type Draw = (purpose: string) => number;

/**
 * A seat keeps what it had voted, except where the claim that it agreed with is said to be other now:
 * then it often changes its stance, and its option if the claim carried that.
 */
export function writeSecondVote(
  prepared: PreparedCase,
  { seed, model }: { seed: string; model: string },
  material: Material,
): SecondVoteReply {
  const own = new Map(material.rows('own votes').map(([id = '', vote = '']) => [id, vote]));
  const about = [seed, model, material.block('own votes'), material.block('new')].join('|');
  const draw: Draw = (purpose) => seededInteger(about, purpose, 1_000_000) / 1_000_000;
  const changed = material.block('changed claim');
  const votes = material.rows('claims').map(([id = '', ...text]) => {
    const claim = claimStated(prepared, text.join(' | '));
    const stance = stanceOn(own.get(id), id === changed, (purpose) => draw(`${purpose} ${id}`));
    return {
      claim_id: id,
      claim,
      moved: own.has(id) && own.get(id) !== stance,
      stance,
      confidence: Math.round(55 + draw(`sure ${id}`) * 40),
      reason: reasonFor(claim, stance, draw(`reason ${id}`)),
    };
  });
  const lost = votes.find(({ claim_id, moved }) => moved && claim_id === changed)?.claim ?? null;
  const { id, option } = decisionOf(prepared, material, own.get('decision'), lost, draw);
  return {
    votes: votes.map(({ claim: _claim, moved: _moved, ...vote }) => vote),
    decision_vote: {
      option_id: id,
      reason: oneOf(
        Object.values(option?.one_lines ?? {})
          .flat()
          .filter(isShort),
        draw('why'),
      ),
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

function reasonFor(claim: CaseClaim | null, stance: Stance, drawn: number): string {
  if (claim === null || stance === 'agree') return '';
  return stance === 'unsure' ? claim.unsure : oneOf(claim.disagree, drawn);
}

/** @param lost the claim that the seat no longer agrees with */
function decisionOf(
  prepared: PreparedCase,
  material: Material,
  own: string | undefined,
  lost: CaseClaim | null,
  draw: Draw,
): { id: string; option: CaseOption | null } {
  const listed = material.rows('options').map(([id = '', ...text]) => ({
    id,
    option: optionsOf(prepared).find(({ label }) => label === text.join(' | ')) ?? null,
  }));
  const before = listed.find(({ id }) => id === own) ?? listed[0] ?? { id: '', option: null };
  const carried = before.option !== null && lost?.supports.includes(before.option.id) === true;
  if (!carried || draw('decision') >= 0.6) return before;
  const others = listed.filter(
    ({ option }) => option !== null && !lost.supports.includes(option.id),
  );
  return others[Math.floor(draw('other') * others.length)] ?? before;
}

function oneOf(texts: readonly string[], drawn: number): string {
  return texts[Math.floor(drawn * texts.length)] ?? '';
}
