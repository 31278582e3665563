import type { CaseOption, PreparedCase } from '#services/sandbox/models/cases.ts';
import { claimStated, optionsOf } from '#services/sandbox/models/cases.ts';
import { recommendationIn } from './material.ts';
import type { Material } from './material.ts';
import type { Plan } from './plan.ts';

type Cited = { text: string; claim_ids: string[] };
type Step = Omit<CaseOption['draft']['next_steps'][number], 'claim_ids'> & { claim_ids: string[] };

/** The writer's reply, in the shape of `draft`. */
export type DraftReply = {
  decision: string;
  option_id: string;
  sections: { heading: string; blocks: Cited[] }[];
  next_steps: Step[];
  flaw_replies: { flaw_id: string; text: string }[];
  dissent: { claim_id: string; text: string }[];
  uncertainties: string[];
  changed: string;
};

/** What a verifier replies, in the shape of `verification`. */
export type VerificationReply = {
  contradicts_consensus: boolean;
  contradictions: { claim_id: string; quote: string; explanation: string }[];
};

/** The few words of the page itself. */
const words = {
  en: {
    agreed: 'Also agreed',
    said: 'What was said for and against it',
    same: 'This is the objection that was answered before, and the same holds here.',
    weighed: 'The objection is noted; the votes weigh it less than the reasons given here.',
    kept: 'The decision is the same as before the second vote.',
    moved: 'The decision is another one than before the second vote.',
    view: (votes: number, of: number, text: string) => `${votes} of ${of} models would ${text}`,
  },
  // cspell:disable
  de: {
    agreed: 'Außerdem besteht Einigkeit',
    said: 'Was dafür und dagegen spricht',
    same: 'Das ist der Einwand, der schon beantwortet wurde, und hier gilt dasselbe.',
    weighed: 'Der Einwand ist vermerkt; in den Stimmen wiegt er weniger als die genannten Gründe.',
    kept: 'Die Entscheidung ist dieselbe wie vor der zweiten Abstimmung.',
    moved: 'Die Entscheidung ist eine andere als vor der zweiten Abstimmung.',
    view: (votes: number, of: number, text: string) =>
      `${votes} von ${of} Modellen ${votes === 1 ? 'würde' : 'würden'} ${text}`,
  },
  // cspell:enable
};

/**
 * The draft of the option that the vote chose, as far as the council's claims carry it: a statement
 * stays when all of its claims were made and one of them is not contested.
 */
export function writeDraft(plan: Plan, material: Material): DraftReply {
  const { prepared } = plan;
  const ledger = ledgerOf(prepared, material);
  const say = words[prepared.language];
  const options = material.rows('options').map(([id = '', votes = '', ...text]) => ({
    id,
    votes: Number(/^votes (\d+)$/.exec(votes)?.[1] ?? 0),
    option: optionsOf(prepared).find(({ label }) => label === text.join(' | ')) ?? null,
    label: text.join(' | '),
  }));
  const votes = options.reduce((sum, each) => sum + each.votes, 0);
  const chosen = material.block('decision');
  // Where nobody voted, the writer takes what most answers recommend.
  const winner =
    chosen === '' ? mostProposed(options, material) : options.find(({ id }) => id === chosen);
  const option = winner?.option ?? null;
  const argued = option === null ? [] : sectionsOf(option, ledger);
  const steps = (option?.draft.next_steps ?? []).filter(ledger.isMade);
  const used = new Set(
    [
      ...argued.flatMap(({ blocks }) => blocks),
      ...steps.map((step) => ledger.cited({ ...step, text: '' })),
    ].flatMap(({ claim_ids }) => claim_ids),
  );
  // An option that no case knows, of a real model, is argued with what was said.
  const due = option === null ? ledger.claims.map(({ id }) => id) : ledger.consensus;
  const agreed = ledger.claims
    .filter(({ id }) => due.includes(id) && !used.has(id))
    .map(({ id, text }) => ({ text, claim_ids: [id] }));
  const rest = { heading: option === null ? say.said : say.agreed, blocks: agreed.slice(0, 12) };
  const decision = option?.draft.decision ?? winner?.label ?? '';
  const earlier = material.block('earlier decision');
  return {
    decision,
    option_id: winner?.id ?? '',
    sections: agreed.length === 0 ? argued : [...argued, rest],
    next_steps: steps.map((step) => ({ ...step, claim_ids: ledger.cited(step).claim_ids })),
    flaw_replies: flawReplies(prepared, material, say),
    dissent: dissentOf(
      ledger,
      options.flatMap(({ option: losing, votes: own }) => {
        if (losing === null || losing === option || own === 0) return [];
        const { claim_id, text } = losing.minority;
        return [{ claim_id, text: say.view(own, votes, text) }];
      }),
    ),
    uncertainties: option?.draft.uncertainties ?? [],
    changed: earlier === '' ? '' : earlier === oneLine(decision) ? say.kept : say.moved,
  };
}

function mostProposed<Option extends { label: string }>(
  options: readonly Option[],
  { answers }: Material,
): Option | undefined {
  const proposed = answers.map(({ text }) => recommendationIn(text));
  const answersFor = ({ label }: Option) => proposed.filter((each) => each === label).length;
  return options.toSorted((one, other) => answersFor(other) - answersFor(one))[0];
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** The same flaw in a second answer is not answered in the same words again. */
function flawReplies(
  prepared: PreparedCase,
  material: Material,
  { same, weighed }: (typeof words)['en'],
): DraftReply['flaw_replies'] {
  const ids = [...new Set(material.rows('fatal flaws').map(([id = '']) => id))];
  const texts = ids.map((id) => answerTo(prepared, material, id) ?? weighed);
  return ids.map((id, index) => {
    const text = texts[index]!;
    return { flaw_id: id, text: texts.indexOf(text) === index ? text : same };
  });
}

/** The case's answer to a flaw that reviewers raised; null to one that no case knows. */
function answerTo(prepared: PreparedCase, material: Material, flawId: string): string | null {
  const texts = material
    .rows('fatal flaws')
    .flatMap(([id, ...text]) => (id === flawId ? [text.join(' | ')] : []));
  const about = optionsOf(prepared).find(({ fatal_flaw }) => texts.includes(fatal_flaw.text));
  return about?.fatal_flaw.answer ?? null;
}

function sectionsOf({ draft }: CaseOption, ledger: Ledger): DraftReply['sections'] {
  const isCarried = ({ claim_ids }: OfCase) =>
    !claim_ids.every((id) => ledger.contested.includes(ledger.idOf(id) ?? ''));
  const made = draft.sections.flatMap(({ blocks }) => blocks).filter(ledger.isMade);
  // Where everything is contested, the argument stands as it is.
  const kept = new Set(made.some(isCarried) ? made.filter(isCarried) : made);
  return draft.sections
    .map(({ heading, blocks }) => ({
      heading,
      blocks: blocks.filter((block) => kept.has(block)).map((block) => ledger.cited(block)),
    }))
    .filter(({ blocks }) => blocks.length > 0);
}

/** Cites claims by their ids in the case. */
type OfCase = { claim_ids: readonly string[] };
type Ledger = ReturnType<typeof ledgerOf>;

function ledgerOf(prepared: PreparedCase, material: Material) {
  const claims = material.rows('claims').map(([id = '', _importance, _votes, ...text]) => ({
    id,
    text: text.join(' | '),
    claim: claimStated(prepared, text.join(' | ')),
  }));
  const byCaseId = new Map(claims.map(({ id, claim }) => [claim?.id, id]));
  /** The ledger's id of a claim of the case; null when nobody made it. */
  const idOf = (caseId: string) => byCaseId.get(caseId) ?? null;
  return {
    claims,
    idOf,
    isMade: ({ claim_ids }: OfCase) => claim_ids.every((id) => idOf(id) !== null),
    cited: ({ text = '', claim_ids }: OfCase & { text?: string }): Cited => ({
      text,
      claim_ids: claim_ids.flatMap((id) => idOf(id) ?? []),
    }),
    consensus: material.rows('consensus').flat(),
    contested: [...new Set(material.rows('disagreements').map(([id = '']) => id))],
  };
}

/** Both sides of each contested claim, and the view of each option that has votes and lost. */
function dissentOf(
  ledger: Ledger,
  losing: readonly CaseOption['minority'][],
): DraftReply['dissent'] {
  const views = losing.flatMap(({ claim_id, text }) => {
    const id = ledger.idOf(claim_id);
    return id === null ? [] : [{ id, text }];
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
  const statements = (argued.match(/[^.!?\n]+[.!?]?/g) ?? []).map(readStatement);
  const contradictions = material.rows('consensus').flatMap(([id = '', ...text]) => {
    const point = readStatement(text.join(' | '));
    const opposed = statements.find((statement) => areOpposed(statement, point));
    if (opposed === undefined) return [];
    const quote = opposed.text.trim();
    return [{ claim_id: id, quote, explanation: 'These words deny the point.' }];
  });
  return { contradicts_consensus: contradictions.length > 0, contradictions };
}

type Statement = ReturnType<typeof readStatement>;

const negation = /\b(?:not|never|no|nobody|nothing|cannot|hardly|without)\b|n['\u2019]t\b/gi;

function readStatement(text: string) {
  return {
    text,
    content: new Set(text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []),
    isNegated: (text.match(negation)?.length ?? 0) % 2 === 1,
  };
}

function areOpposed(one: Statement, other: Statement): boolean {
  if (one.isNegated === other.isNegated) return false;
  const shared = [...one.content].filter((word) => other.content.has(word)).length;
  return shared / Math.max(1, one.content.size + other.content.size - shared) >= 0.75;
}
