import type { PreparedCase } from '#services/sandbox/models/cases.ts';
import { optionsOf } from '#services/sandbox/models/cases.ts';
import type { Material } from './material.ts';
import { flawedBy } from './review.ts';
import type { Plan } from './plan.ts';

type Cited = { text: string; claim_ids: string[] };

/** The writer's reply, in the shape of `draft`. */
export type DraftReply = {
  decision: string;
  option_id: string;
  sections: { heading: string; blocks: Cited[] }[];
  next_steps: Cited[];
  dissent: { claim_id: string; text: string }[];
  uncertainties: string[];
};

/** What a verifier replies, in the shape of `verification`. */
export type VerificationReply = {
  contradicts_consensus: boolean;
  contradictions: { claim_id: string; explanation: string }[];
};

/** The few words of the page itself. */
const words = {
  en: {
    flaw: 'The strongest objection, and the answer',
    agreed: 'Also agreed',
    measure: 'Measure:',
    stop: 'Stop if:',
  },
  de: {
    flaw: 'Der stärkste Einwand und die Antwort',
    agreed: 'Außerdem besteht Einigkeit',
    measure: 'Messgröße:',
    stop: 'Abbruch, wenn:',
  },
};

/**
 * The draft of the option with most votes, as far as the council's claims carry it: a statement stays
 * when all of its claims were made and one of them is not contested.
 */
export function writeDraft(plan: Plan, material: Material): DraftReply {
  const { prepared } = plan;
  const ledger = ledgerOf(prepared, material);
  const say = words[prepared.language];
  const options = material.rows('options').map(([id = '', votes = '', ...text]) => ({
    id,
    votes: Number(votes.replace('votes ', '')),
    option: optionsOf(prepared).find(({ label }) => label === text.join(' | ')) ?? null,
    label: text.join(' | '),
  }));
  const [winner] = options.toSorted((one, other) => other.votes - one.votes);
  const option = winner?.option ?? null;
  const isKept = ({ claim_ids }: Pick<Cited, 'claim_ids'>) =>
    claim_ids.every((id) => ledger.idOf(id) !== null) &&
    !claim_ids.every((id) => ledger.contested.includes(ledger.idOf(id) ?? ''));
  const cited = (text: string, claimIds: readonly string[]): Cited => ({
    text,
    claim_ids: claimIds.flatMap((id) => ledger.idOf(id) ?? []),
  });
  const raisers = plan.seats.filter((seat) => flawedBy(plan, seat) === option).length;
  const flaw = option?.fatal_flaw;
  const isAnswered = flaw?.claim_ids.every((id) => ledger.idOf(id) !== null) ?? false;
  const sections = [
    ...(flaw && raisers >= 2 && isAnswered
      ? [
          {
            heading: say.flaw,
            blocks: [flaw.text, flaw.answer].map((text) => cited(text, flaw.claim_ids)),
          },
        ]
      : []),
    ...(option?.draft.sections ?? []).map(({ heading, blocks }) => ({
      heading,
      blocks: blocks.filter(isKept).map(({ text, claim_ids }) => cited(text, claim_ids)),
    })),
  ].filter(({ blocks }) => blocks.length > 0);
  const steps = (option?.draft.next_steps ?? []).filter(({ claim_ids }) =>
    claim_ids.every((id) => ledger.idOf(id) !== null),
  );
  const used = new Set(
    [
      ...sections.flatMap(({ blocks }) => blocks),
      ...steps.map((step) => cited('', step.claim_ids)),
    ].flatMap(({ claim_ids }) => claim_ids),
  );
  const agreed = ledger.claims.filter(({ id }) => ledger.consensus.includes(id) && !used.has(id));
  const left = agreed.map(({ id, text }) => ({ text, claim_ids: [id] }));
  return {
    decision: option?.draft.decision ?? winner?.label ?? '',
    option_id: winner?.id ?? '',
    sections: left.length === 0 ? sections : [...sections, { heading: say.agreed, blocks: left }],
    next_steps: steps.map(({ action, measure, stop_if, claim_ids }) =>
      cited(`${action} ${say.measure} ${measure} ${say.stop} ${stop_if}`, claim_ids),
    ),
    dissent: dissentOf(
      ledger,
      options.flatMap(({ option: losing }) => (losing && losing !== option ? [losing] : [])),
    ),
    uncertainties: option?.draft.uncertainties ?? [],
  };
}

type Ledger = ReturnType<typeof ledgerOf>;

function ledgerOf(prepared: PreparedCase, material: Material) {
  const claims = material.rows('claims').map(([id = '', _importance, _votes, ...text]) => ({
    id,
    text: text.join(' | '),
    claim: prepared.claims.find((each) => each.text === text.join(' | ')) ?? null,
  }));
  const byCaseId = new Map(claims.map(({ id, claim }) => [claim?.id, id]));
  return {
    claims,
    /** The ledger's id of a claim of the case; null when nobody made it. */
    idOf: (caseId: string) => byCaseId.get(caseId) ?? null,
    consensus: material.rows('consensus').flat(),
    contested: material.rows('disagreements').map(([id = '']) => id),
  };
}

/** Both sides of each contested claim, and the view of each option that lost. */
function dissentOf(ledger: Ledger, losing: ReturnType<typeof optionsOf>): DraftReply['dissent'] {
  const views = losing.flatMap(({ minority }) => {
    const id = ledger.idOf(minority.claim_id);
    return id === null ? [] : [{ id, text: minority.text }];
  });
  const about = new Set([...ledger.contested, ...views.map(({ id }) => id)]);
  return ledger.claims.flatMap(({ id, text, claim }) => {
    if (!about.has(id)) return [];
    const sides = claim === null ? [text] : [claim.dispute, claim.settles];
    const parts = [
      ...(ledger.contested.includes(id) ? sides : []),
      ...views.filter((view) => view.id === id).map((view) => view.text),
    ];
    return [{ claim_id: id, text: parts.join(' ') }];
  });
}

/** Finds statements that say nearly the same as a point, but one with and one without a "not". */
export function writeVerification(material: Material): VerificationReply {
  const [argued = ''] = material.block('draft').split(/^Dissent:$/m);
  const statements = argued.match(/[^.!?\n]+[.!?]?/g) ?? [];
  const contradictions = material.rows('consensus').flatMap(([id = '', ...text]) => {
    const opposed = statements.find((statement) => opposes(statement, text.join(' | ')));
    const explanation = `The draft says "${opposed?.trim() ?? ''}", which denies this point.`;
    return opposed === undefined ? [] : [{ claim_id: id, explanation }];
  });
  return { contradicts_consensus: contradictions.length > 0, contradictions };
}

const negation = /\b(?:not|never|no|nobody|nothing|cannot|hardly|without)\b|n['\u2019]t\b/gi;

function opposes(statement: string, point: string): boolean {
  const contentOf = (text: string) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []);
  const isNegated = (text: string) => (text.match(negation)?.length ?? 0) % 2 === 1;
  const said = contentOf(statement);
  const agreed = contentOf(point);
  const shared = [...agreed].filter((word) => said.has(word)).length;
  const overlap = shared / Math.max(1, agreed.size + said.size - shared);
  return overlap >= 0.75 && isNegated(statement) !== isNegated(point);
}
