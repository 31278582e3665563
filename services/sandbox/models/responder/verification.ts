import { contentWords } from './ledger.ts';
import type { Material } from './reading.ts';

/** A verifier's reply, in the shape of `verification`. */
export type VerificationReply = {
  contradicts_consensus: boolean;
  contradictions: { claim_id: string; explanation: string }[];
};

/** Finds statements that say nearly the same as a point, but one with and one without a "not". */
export function writeVerification(material: Material): VerificationReply {
  const [argued = ''] = material.block('draft').split(/^Dissent:$/m);
  const statements = argued.match(/[^.!?\n]+[.!?]?/g) ?? [];
  const contradictions = material
    .lines('consensus')
    .map((line) => ({
      id: line.split(' | ')[0] ?? '',
      text: line.split(' | ').slice(1).join(' | '),
    }))
    .flatMap(({ id, text }) => {
      const opposed = statements.find((statement) => opposes(statement, text));
      return opposed === undefined
        ? []
        : [
            {
              claim_id: id,
              explanation: `The draft says "${opposed.trim()}", which denies this point.`,
            },
          ];
    });
  return { contradicts_consensus: contradictions.length > 0, contradictions };
}

const negation = /\b(?:not|never|no|nobody|nothing|cannot|hardly|without)\b|n['\u2019]t\b/gi;

function opposes(statement: string, point: string): boolean {
  const said = contentWords(statement);
  const agreed = contentWords(point);
  const shared = [...agreed].filter((word) => said.has(word)).length;
  const overlap = shared / Math.max(1, agreed.size + said.size - shared);
  return overlap >= 0.75 && negations(statement) % 2 !== negations(point) % 2;
}

function negations(text: string): number {
  return text.match(negation)?.length ?? 0;
}
