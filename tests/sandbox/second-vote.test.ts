import { describe, expect, test } from 'vitest';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { optionsOf, preparedCases } from '#services/sandbox/models/cases.ts';
import type { PreparedCase } from '#services/sandbox/models/cases.ts';
import { readMaterial } from '#services/sandbox/models/simulator/material.ts';
import { voices, writeSecondVote } from '#services/sandbox/models/simulator/second-vote.ts';

const voters = Array.from({ length: voices }, (_, voice) => ({
  seed: 'test',
  model: `model-${voice}`,
  voice,
}));
const ownReason = 'I had seen this myself.';
const reasonOfOthers = 'Another seat wrote this.';

/** The second votes of seats that had voted for the first option and agreed with all claims but one. */
function votesOn(prepared: PreparedCase, changed: string, disputed: string | null = null) {
  const block = (kind: string, lines: readonly string[]) =>
    `[begin 0123456789 ${kind}]\n${lines.join('\n')}\n[end 0123456789]`;
  const material = readMaterial(
    [
      block('challenge', [prepared.question.challenge]),
      block('new', ['Something is other than you took it to be.']),
      block('changed claim', [changed]),
      block(
        'claims',
        prepared.claims.map(({ id, text }) => `${id} | ${text}`),
      ),
      block(
        'options',
        optionsOf(prepared).map(({ id, label }) => `${id} | ${label}`),
      ),
      block('own votes', [
        ...prepared.claims.map(
          ({ id }) => `${id} | ${id === disputed ? `disagree | ${ownReason}` : 'agree'}`,
        ),
        `decision | ${prepared.options[0]!.id} | ${ownReason}`,
      ]),
      block(
        'reasons',
        prepared.claims.map(({ id }) => `${id} | disagree | ${reasonOfOthers}`),
      ),
    ].join('\n\n'),
  );
  return voters.map((voter) => writeSecondVote(prepared, voter, material));
}

describe('a simulated second vote', () => {
  test.each(preparedCases().map((prepared) => [prepared.case, prepared] as const))(
    'some seats of %s leave the claim that has changed, and some their option; the rest stays',
    (_, prepared) => {
      const changed = prepared.claims.find(({ supports }) =>
        supports.includes(prepared.options[0]!.id),
      )!;
      const votes = votesOn(prepared, changed.id);
      const left = votes.filter(({ votes: all }) =>
        all.some(({ claim_id, stance }) => claim_id === changed.id && stance !== 'agree'),
      );
      expect(left.length).toBeGreaterThan(voters.length / 4);
      expect(left.length).toBeLessThan(voters.length);
      const moved = votes.filter(
        ({ decision_vote: { option_id: id } }) => id !== prepared.options[0]!.id,
      );
      expect(moved.length).toBeGreaterThan(0);
      expect(left).toEqual(expect.arrayContaining(moved));
      for (const { votes: all } of votes)
        for (const { claim_id, stance } of all)
          expect(claim_id === changed.id || stance === 'agree').toBe(true);
    },
  );

  test('the models of a panel have a voice each', () => {
    const { strategies } = loadCatalogue(null);
    const models = strategies.flatMap(({ panel }) => panel.map(({ model }) => model));
    expect(new Set(models).size).toBeLessThanOrEqual(voices);
  });

  test('a seat that keeps a vote repeats its own reason, and no two seats that move say the same', () => {
    for (const prepared of preparedCases()) {
      const [first, second] = prepared.claims as [
        (typeof prepared.claims)[0],
        (typeof prepared.claims)[0],
      ];
      const votes = votesOn(prepared, first.id, second.id);
      expect(votesOn(prepared, first.id, second.id)).toEqual(votes);
      const decisions = votes.map(({ decision_vote: decision }) => decision.reason);
      const claims = votes.flatMap(({ votes: all }) => all);
      const kept = claims.filter(({ claim_id: id }) => id === second.id);
      expect(new Set(kept.map(({ reason }) => reason))).toEqual(new Set([ownReason]));
      const moved = [...claims.map(({ reason }) => reason), ...decisions].filter(
        (reason) => reason !== '' && reason !== ownReason,
      );
      expect(moved.length).toBeGreaterThan(0);
      expect(new Set(moved).size).toBe(moved.length);
      expect(moved).not.toContain(reasonOfOthers);
    }
  });
});
