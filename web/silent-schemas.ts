import type { Plugin } from 'vite';

/**
 * What a contract says of its fields to those who build on the API, and how they look to them, is in
 * no page: the calls that say it are taken out, and a pipe in which nothing else is left gives way to
 * the schema in it.
 */
export const silentSchemas: Plugin = {
  name: 'silent-schemas',
  enforce: 'pre',
  transform: {
    filter: { id: /services\/\w+\/contract\.ts$/ },
    handler(code) {
      return callsIn(this.parse(code, { lang: 'ts' }))
        .filter((call) => textOf(call, code).startsWith('v.pipe('))
        .flatMap((call) => cutsOf(call, code))
        .toSorted((left, right) => right.start - left.start)
        .reduce((rest, { start, end }) => rest.slice(0, start) + rest.slice(end), code);
    },
  },
};

/** From one place in the text to another; those of calls that stand in one another never overlap. */
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

/** Every call in a tree of syntax, wherever it stands. */
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
