import { hashOf } from '#services/evaluation/records/hash.ts';
import { currentMetric } from '#services/optimizations/council/metric.ts';
import {
  draftPrompt,
  ledgerPrompt,
  opinionPrompt,
  reviewPrompt,
  verificationPrompt,
} from '#services/optimizations/prompts/prompts.ts';
import type { Challenge, DraftBrief } from '#services/optimizations/prompts/prompts.ts';
import { seatRoles } from '#services/models/strategy-list.ts';

/** Of all prompts and of the metric: answers that were made with other ones are not counted together. */
export function promptsVersion(): string {
  const asked: Challenge = {
    type: 'other',
    challenge: 'question',
    context: 'context',
    objectives: ['objective'],
    constraints: ['constraint'],
  };
  const drawn = { delimiter: 'delimiter' };
  const answers = [{ label: 'label', text: 'text' }];
  const named = [{ id: 'id', text: 'text' }];
  return hashOf([
    currentMetric,
    ...seatRoles.map((role) => opinionPrompt(asked, role, drawn)),
    ledgerPrompt(asked, answers, drawn),
    reviewPrompt(
      asked,
      { answers, claims: named, options: named },
      { ...drawn, seed: 'seed', reviewer: 'seat' },
    ),
    ...(['recommendation', 'no_majority', 'undecidable', null] as const).map((heading) =>
      draftPrompt(asked, briefFor(heading && { optionId: 'option', heading }), drawn),
    ),
    verificationPrompt(writtenDraft, named, drawn),
  ]).slice(0, 12);
}

function briefFor(decision: DraftBrief['decision']): DraftBrief {
  return {
    decision,
    flaws: [{ id: 'flaw', texts: ['text'] }],
    critiques: ['critique'],
    reasons: [{ claimId: 'claim', text: 'text' }],
    claims: [{ id: 'claim', text: 'text', importance: 1, agree: 1, disagree: 1, unsure: 1 }],
    options: [{ id: 'option', text: 'text', votes: 1 }],
    topAnswers: [{ label: 'label', text: 'text' }],
    consensusIds: ['claim'],
    disagreements: [{ claimId: 'claim', for: 'for', against: 'against' }],
    minority: { text: 'text', optionId: 'option', claimIds: ['claim'] },
    complaints: ['complaint'],
    lastDraft: null,
  };
}

const writtenDraft = {
  decision: 'decision',
  option_id: 'option',
  sections: [],
  next_steps: [],
  flaw_replies: [],
  dissent: [],
  uncertainties: [],
};
