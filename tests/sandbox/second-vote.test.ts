import { describe, expect, test } from 'vitest';
import { optionsOf, preparedCases } from '#services/sandbox/models/cases.ts';
import type { PreparedCase } from '#services/sandbox/models/cases.ts';
import { readMaterial } from '#services/sandbox/models/simulator/material.ts';
import { writeSecondVote } from '#services/sandbox/models/simulator/second-vote.ts';

const voters = Array.from({ length: 40 }, (_, index) => `model-${index}`);

/** The second votes of many seats that had agreed with everything, for the first option. */
function votesOn(prepared: PreparedCase, changed: string) {
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
        ...prepared.claims.map(({ id }) => `${id} | agree`),
        `decision | ${prepared.options[0]!.id}`,
      ]),
    ].join('\n\n'),
  );
  return voters.map((model) => writeSecondVote(prepared, { seed: 'test', model }, material));
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

  test('a simulated second vote says sentences of its case alone, and the same ones each time', () => {
    for (const prepared of preparedCases()) {
      const [{ id } = { id: '' }] = prepared.claims;
      const sentences = JSON.stringify(prepared);
      const votes = votesOn(prepared, id);
      expect(votesOn(prepared, id)).toEqual(votes);
      const said = votes.flatMap(({ votes: all, decision_vote: decision }) => [
        ...all.map(({ reason }) => reason),
        decision.reason,
      ]);
      for (const text of new Set(said))
        expect(sentences).toContain(JSON.stringify(text).slice(1, -1));
      expect(said.some((text) => text !== '')).toBe(true);
    }
  });
});
