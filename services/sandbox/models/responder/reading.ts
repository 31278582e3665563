/**
 * Reads a prompt as a model would: blocks of material between "[begin <code> <kind>]" and
 * "[end <code>]", and the role in the system text. Nothing here knows who wrote the prompt; what
 * cannot be read is simply absent.
 */
export type Asked = {
  type: string;
  challenge: string;
  context: string;
  objectives: readonly string[];
  constraints: readonly string[];
};

export type Role = 'strategic' | 'risk' | 'implementation';

export type Material = {
  asked: Asked;
  /** In the order shown. */
  answers: readonly { label: string; text: string }[];
  /** Text of a block by its kind; empty when there is none. */
  block: (kind: string) => string;
  lines: (kind: string) => readonly string[];
};

export function readMaterial(prompt: string): Material {
  const blocks = [...prompt.matchAll(/\[begin (\w{8,}) ([^\]\n]+)\]\n([\s\S]*?)\n\[end \1\]/g)].map(
    ([, , kind = '', text = '']) => ({ kind, text: text === '(none)' ? '' : text }),
  );
  const block = (kind: string) => blocks.find((each) => each.kind === kind)?.text ?? '';
  const lines = (kind: string) =>
    block(kind)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  return {
    asked: {
      type: block('type'),
      // A caller with a prompt of its own still asked something.
      challenge: blocks.length === 0 ? prompt : block('challenge'),
      context: block('context'),
      objectives: lines('objectives'),
      constraints: lines('constraints'),
    },
    answers: blocks
      .filter(({ kind }) => kind.startsWith('answer '))
      .map(({ kind, text }) => ({ label: kind.slice('answer '.length), text })),
    block,
    lines,
  };
}

export function readRole(system: string): Role {
  if (/\brisk analyst\b/i.test(system)) return 'risk';
  if (/\bimplementer\b/i.test(system)) return 'implementation';
  return 'strategic';
}

/** An answer's lines under a heading such as "Claims:"; empty when it has none. */
export function linesUnder(answer: string, heading: string): string[] {
  const lines = answer.split('\n');
  const start = lines.indexOf(`${heading}:`);
  if (start < 0) return [];
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => line.trim() === '' || /^[A-Z][a-z]+( [a-z]+)?:$/.test(line));
  return (end < 0 ? rest : rest.slice(0, end)).filter((line) => line.trim() !== '');
}

/** The option that an answer names in its first line. */
export function recommendationIn(answer: string): string {
  const line = /^Recommended option: (.*)$/m.exec(answer)?.[1] ?? answer.split('\n')[0] ?? '';
  return line.replace(/[.!?\s]+$/, '');
}
