import type { AskedQuestion, SeatRole } from '#services/sandbox/models/cases.ts';

/**
 * Reads a prompt as a model would: blocks of material between "[begin <code> <kind>]" and
 * "[end <code>]", and the role in the system text. What cannot be read is absent.
 */
export type Material = {
  asked: AskedQuestion;
  /** Drawn for one attempt at one call; empty when the prompt has no blocks. */
  delimiter: string;
  /** In the order shown. */
  answers: readonly { label: string; text: string }[];
  /** The parts of each line of a block, which are separated by " | ". */
  rows: (kind: string) => readonly (readonly string[])[];
  block: (kind: string) => string;
};

export function readMaterial(prompt: string): Material {
  const blocks = [...prompt.matchAll(/\[begin (\w{8,}) ([^\]\n]+)\]\n([\s\S]*?)\n\[end \1\]/g)].map(
    ([, code = '', kind = '', text = '']) => ({ code, kind, text: text === '(none)' ? '' : text }),
  );
  const block = (kind: string) => blocks.find((each) => each.kind === kind)?.text ?? '';
  return {
    asked: {
      type: block('type'),
      // A caller with a prompt of its own still asked something.
      challenge: blocks.length === 0 ? prompt : block('challenge'),
      context: block('context'),
    },
    delimiter: blocks[0]?.code ?? '',
    answers: blocks
      .filter(({ kind }) => kind.startsWith('answer '))
      .map(({ kind, text }) => ({ label: kind.slice('answer '.length), text })),
    rows: (kind) =>
      block(kind)
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map((line) => line.split(' | ').map((part) => part.trim())),
    block,
  };
}

export function readRole(system: string): SeatRole {
  if (/\brisk analyst\b/i.test(system)) return 'risk';
  if (/\bimplementer\b/i.test(system)) return 'implementation';
  return 'strategic';
}

/** The claims of an answer, one a line under their heading. */
export function claimsIn(answer: string): string[] {
  const [, listed = ''] = /^Claims:\n([\s\S]*?)(?:\n\n|(?![\s\S]))/m.exec(answer) ?? [];
  return listed.split('\n').filter((line) => line.trim() !== '');
}

/** The option that an answer names in its first line. */
export function recommendationIn(answer: string): string {
  const line = /^Recommended option: (.*)$/m.exec(answer)?.[1] ?? answer.split('\n')[0] ?? '';
  return line.trim();
}
