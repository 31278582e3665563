import type { Plugin } from 'vite';

/**
 * Field descriptions in a contract are for API users and must not reach a page. This plugin removes
 * the calls that add them, and unwraps a pipe that then holds only its schema.
 */
export const silentSchemas: Plugin = {
  name: 'silent-schemas',
  enforce: 'pre',
  transform: {
    filter: { id: /services\/\w+\/contract(?:\/[\w-]+)?\.ts$/ },
    handler(code) {
      return callsIn(this.parse(code, { lang: 'ts' }))
        .filter((call) => textOf(call, code).startsWith('v.pipe('))
        .flatMap((call) => cutsOf(call, code))
        .toSorted((left, right) => right.start - left.start)
        .reduce((rest, { start, end }) => rest.slice(0, start) + rest.slice(end), code);
    },
  },
};

/** Positions in the text. Nested calls never overlap. */
type Span = { start: number; end: number };
type Call = Span & { arguments: Span[] };

function cutsOf({ start, end, arguments: parts }: Call, code: string): Span[] {
  const [schema, ...actions] = parts;
  const isSilent = (action: Span) => /^v\.(?:description|metadata)\(/.test(textOf(action, code));
  if (!schema || !actions.some(isSilent)) return [];
  if (actions.every(isSilent))
    return [
      { start, end: schema.start },
      { start: schema.end, end },
    ];
  return actions.flatMap((action, index) => {
    const before = parts[index] ?? schema;
    return isSilent(action) ? [{ start: before.end, end: action.end }] : [];
  });
}

function callsIn(node: unknown): Call[] {
  if (typeof node !== 'object' || node === null) return [];
  const inside = Object.values(node).flatMap(callsIn);
  return isCall(node) ? [node, ...inside] : inside;
}

function isCall(node: object): node is Call {
  return 'type' in node && node.type === 'CallExpression';
}

function textOf({ start, end }: Span, code: string): string {
  return code.slice(start, end);
}
