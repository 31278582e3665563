import { loadCatalogue } from '#services/models/catalogue.ts';
import { findsInjection, scrubOf } from '#services/optimizations/prompts/scrub.ts';
import { numbersNotIn } from '#services/optimizations/prompts/numbers.ts';
import { optionsOf } from '#services/sandbox/models/cases.ts';
import type { CaseClaim, CaseOption, PreparedCase } from '#services/sandbox/models/cases.ts';

const scrub = scrubOf(
  loadCatalogue(null).models.map(({ id, displayName, family }) => ({
    model: id,
    name: displayName,
    family,
  })),
);

/** Every fault of a prepared case, as "where: what". */
export function faultsOf(prepared: PreparedCase): string[] {
  const { claims, question } = prepared;
  const asked = [question.challenge, question.context];
  const faults: string[] = [];
  const texts: Placed[] = [];
  const check: Check = {
    fault: (where, what) => void faults.push(`${where}: ${what}`),
    text(where, text, { isTitle = false } = {}) {
      texts.push({ where, text });
      for (const what of signFaults(text)) check.fault(where, `${what}: ${text}`);
      if (!isTitle && !/[.?!]['“]?$/.test(text)) check.fault(where, `no full stop: ${text}`);
      if (scrub(text) !== text) check.fault(where, `scrubbing changes it: ${text}`);
      if (findsInjection(text)) check.fault(where, `it seems to address reviewers: ${text}`);
    },
    numbers(where, text, sources) {
      for (const number of numbersNotIn([{ text, isStep: false }], sources, asked))
        check.fault(where, `${number} is not in its sources: ${text}`);
    },
  };
  if (claims.length < 12 || claims.length > 16) check.fault('claims', 'not 12 to 16');
  if (question.title.length > 70) check.fault('title', 'over 70 characters');
  for (const claim of claims) checkClaim(prepared, claim, check);
  for (const option of optionsOf(prepared)) checkOption(prepared, option, check);
  const once = {
    ids: claims.map(({ id }) => id),
    texts: claims.map(({ text }) => text),
    labels: optionsOf(prepared).map(({ label }) => label),
    says: claims.flatMap(({ says }) => Object.values(says)),
  };
  for (const [name, list] of Object.entries(once))
    if (new Set(list).size < list.length) check.fault(name, 'not unique');
  return [...faults, ...repeats(texts)];
}

type Placed = { where: string; text: string };
type Check = {
  fault: (where: string, what: string) => void;
  text: (where: string, text: string, kind?: { isTitle?: boolean }) => void;
  numbers: (where: string, text: string, sources: readonly string[]) => void;
};

const roles = ['strategic', 'risk', 'implementation'] as const;
// cspell:ignore unser
const firstPerson = {
  en: /\b(?:I|my|we|our)\b/,
  de: /\b(?:ich|mein\w*|mir|mich|wir|uns|unser\w*)\b/i,
};

/** What is wrong with a text whatever it says. */
export function signFaults(text: string): string[] {
  const opened = text.match(/(?<![\p{L}\p{N}.,;:!?])'/gu)?.length ?? 0;
  const closed = text.match(/'(?![\p{L}\p{N}])/gu)?.length ?? 0;
  const isPaired = (text.match(/„/g)?.length ?? 0) === (text.match(/“/g)?.length ?? 0);
  return [
    /[{}[\]<>]|…|[–—]|--/.test(text) ? 'forbidden sign' : '',
    /(?<!\p{L})(\p{L}+) \1(?!\p{L})/iu.test(text) ? 'doubled word' : '',
    / {2}|^ | $| [.,;:]/.test(text) ? 'stray space' : '',
    /"/.test(text) ? 'double quotation mark' : '',
    opened > closed || !isPaired ? 'unpaired quotation mark' : '',
  ].filter((what) => what !== '');
}

function checkClaim(prepared: PreparedCase, claim: CaseClaim, check: Check): void {
  const at = `claim ${claim.id}`;
  if (!/^[a-z]+(?:-[a-z0-9]+)*$/.test(claim.id)) check.fault(at, 'the id is no slug');
  for (const name of ['text', 'why', 'unsure', 'dispute', 'settles'] as const)
    check.text(`${at} ${name}`, claim[name]);
  const ids = optionsOf(prepared).map(({ id }) => id);
  for (const id of [...claim.supports, ...claim.weakens])
    if (!ids.includes(id)) check.fault(at, `no option ${id}`);
  for (const id of claim.supports)
    if (claim.weakens.includes(id)) check.fault(at, `supports and weakens ${id}`);
  for (const role of roles) {
    const said = claim.says[role];
    check.text(`${at} says ${role}`, said);
    if (firstPerson[prepared.language].test(said)) check.fault(at, `first person: ${said}`);
    if (/[.?!] \p{Lu}/u.test(said)) check.fault(at, `more than one sentence: ${said}`);
  }
  claim.disagree.forEach((text) => {
    check.text(`${at} disagree`, text);
    if (wordsIn(text) > 25) check.fault(at, `over 25 words: ${text}`);
  });
  check.numbers(`${at} dispute`, claim.dispute, [claim.text]);
  check.numbers(`${at} settles`, claim.settles, [claim.text]);
}

function checkOption(prepared: PreparedCase, option: CaseOption, check: Check): void {
  const { id, label, draft, fatal_flaw: flaw, minority } = option;
  const at = `option ${id}`;
  const isOpen = id === 'undecidable';
  const least = isOpen ? 1 : 3;
  const own = prepared.claims.filter(({ supports }) => supports.includes(id));
  if (own.length < (isOpen ? 3 : 5)) check.fault(at, `only ${own.length} claims support it`);
  check.text(`${at} label`, label, { isTitle: true });
  if (wordsIn(label) > 12) check.fault(at, 'a label of over 12 words');
  for (const part of ['one_lines', 'openings', 'closings'] as const)
    for (const role of roles)
      for (const text of option[part][role]) {
        check.text(`${at} ${part}`, text);
        if (part === 'closings' && wordsIn(text) > 25) check.fault(at, `over 25 words: ${text}`);
      }
  for (const part of ['assumptions', 'missing', 'risks', 'critiques'] as const) {
    if (option[part].length < least) check.fault(at, `too few ${part}`);
    for (const text of option[part]) check.text(`${at} ${part}`, text);
  }
  for (const text of option.critiques)
    if (wordsIn(text) > 80) check.fault(at, `a critique of over 80 words: ${text}`);

  const sources = (claimIds: readonly string[]) => [
    label,
    ...claimIds.flatMap((claimId) => {
      const found = prepared.claims.find((claim) => claim.id === claimId);
      if (found === undefined) check.fault(at, `no claim ${claimId}`);
      return found?.text ?? [];
    }),
  ];
  const grounded = (where: string, text: string, claimIds: readonly string[]) => {
    check.text(where, text);
    check.numbers(where, text, sources(claimIds));
  };
  grounded(`${at} flaw`, flaw.text, flaw.claim_ids);
  grounded(`${at} draft answer`, flaw.answer, flaw.claim_ids);
  if (flaw.answer.length < 20 || flaw.answer.length > 400)
    check.fault(at, 'a flaw is answered in 20 to 400 characters');
  grounded(`${at} minority`, minority.text, [minority.claim_id]);
  if (!own.some((claim) => claim.id === minority.claim_id))
    check.fault(at, 'its minority stands on a claim that does not support it');

  grounded(`${at} draft decision`, draft.decision, []);
  for (const text of draft.uncertainties) grounded(`${at} uncertainties`, text, []);
  for (const { heading, blocks } of draft.sections) {
    check.text(`${at} draft heading`, heading, { isTitle: true });
    for (const { text, claim_ids } of blocks) grounded(`${at} draft block`, text, claim_ids);
  }
  const days = draft.next_steps.map(({ by_days }) => by_days);
  if (days.length < 3) check.fault(at, 'fewer than three steps');
  if (days.some((day, index) => day < (days[index - 1] ?? 0)))
    check.fault(at, 'steps are not in date order');
  for (const step of draft.next_steps) {
    for (const part of ['action', 'measure', 'stop_if'] as const)
      grounded(`${at} draft step`, step[part], step.claim_ids);
    for (const claimId of step.claim_ids)
      if (!own.some((claim) => claim.id === claimId))
        check.fault(at, `a step cites ${claimId}, which does not support it`);
  }
  const cited = new Set(
    [...draft.sections.flatMap(({ blocks }) => blocks), ...draft.next_steps].flatMap(
      ({ claim_ids }) => claim_ids,
    ),
  );
  for (const { id: claimId } of isOpen ? [] : prepared.claims)
    if (!cited.has(claimId)) check.fault(at, `its draft does not cite ${claimId}`);
  for (const claimId of isOpen ? cited : [])
    if (!own.some((claim) => claim.id === claimId))
      check.fault(at, `cites ${claimId}, which is not its own`);
}

/** Sentences of 25 characters or more that stand in two places; drafts never meet each other. */
function repeats(texts: readonly Placed[]): string[] {
  const seen = new Map<string, string[]>();
  for (const { where, text } of texts) {
    if (/ (?:missing|assumptions|uncertainties)$/.test(where)) continue;
    for (const sentence of text.split(/(?<=[.?!])\s+/)) {
      if (sentence.length < 25) continue;
      seen.set(sentence, [...(seen.get(sentence) ?? []), where]);
    }
  }
  const draftOf = (where: string) => /^option (\S+) draft/.exec(where)?.[1];
  return [...seen].flatMap(([sentence, places]) => {
    const drafts = places.map(draftOf);
    const meets = drafts.some((draft, at) => draft === undefined || drafts.indexOf(draft) !== at);
    return places.length > 1 && meets ? [`${places.join(', ')}: repeats ${sentence}`] : [];
  });
}

function wordsIn(text: string): number {
  return text.trim().split(/\s+/).length;
}
