import * as v from 'valibot';
import type { Store, StoredObject } from './store.ts';

/**
 * The wire format: parameters as forms with nested names, answers as JSON, lists by pages, refusals in
 * an envelope. The SDK would treat an answer without that envelope as a success, even with an error
 * status.
 */
export type Param = string | Param[] | { [name: string]: Param };
export type Params = { [name: string]: Param };

export type ErrorType = 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';

export class WireError extends Error {
  override readonly name = 'WireError';
  readonly status: number;
  readonly type: ErrorType;
  readonly members: Readonly<Record<string, unknown>>;

  constructor(
    status: number,
    type: ErrorType,
    message: string,
    members: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.status = status;
    this.type = type;
    this.members = members;
  }

  get body(): string {
    return JSON.stringify({ error: { ...this.members, message: this.message, type: this.type } });
  }
}

export function invalid(message: string, members: Readonly<Record<string, unknown>> = {}) {
  return new WireError(400, 'invalid_request_error', message, members);
}

export function missing(what: string, id: string, param: string = 'id', status: number = 404) {
  return new WireError(status, 'invalid_request_error', `No such ${what}: '${id}'`, {
    code: 'resource_missing',
    param,
  });
}

// --- parameters ---

/** `a[b][0]=x&c=y` as `{a: {b: ['x']}, c: 'y'}`; `a[]=x` appends. */
export function parseForm(form: string): Params {
  const root: Branch = new Map();
  for (const [name, value] of new URLSearchParams(form)) plant(root, pathOf(name), value);
  return Object.fromEntries([...root].map(([name, tree]) => [name, grown(tree)]));
}

type Branch = Map<string, string | Branch>;

const deepest = 8;

function pathOf(name: string): string[] {
  const match = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name);
  if (match === null) throw invalid(`Invalid parameter name: ${name.slice(0, 60)}`);
  const [, head = '', rest = ''] = match;
  const path = [head, ...[...rest.matchAll(/\[([^[\]]*)\]/g)].map(([, part = '']) => part)];
  if (path.length > deepest) throw invalid('Parameters are nested too deeply');
  return path;
}

function plant(branch: Branch, [part = '', ...rest]: readonly string[], value: string): void {
  const name = part === '' ? String(branch.size) : part;
  if (rest.length === 0) {
    branch.set(name, value);
    return;
  }
  const known = branch.get(name);
  const inner: Branch = known instanceof Map ? known : new Map();
  branch.set(name, inner);
  plant(inner, rest, value);
}

function grown(tree: string | Branch): Param {
  if (typeof tree === 'string') return tree;
  const entries = [...tree].map(([name, inner]) => [name, grown(inner)] as const);
  const isList = entries.every(([name]) => /^\d+$/.test(name));
  return isList ? entries.map(([, inner]) => inner) : Object.fromEntries(entries);
}

/** Checks for the fields of a call, which arrive as text. */
export const text = v.pipe(v.string(), v.maxLength(5_000));
export const integer = v.pipe(v.string(), v.regex(/^-?\d{1,15}$/), v.transform(Number));
export const boolean = v.pipe(
  v.picklist(['true', 'false']),
  v.transform((word) => word === 'true'),
);
/** An empty value removes the name; `''` alone removes all. */
export const metadata = v.union([
  v.literal(''),
  v.pipe(
    v.record(
      v.pipe(v.string(), v.minLength(1), v.maxLength(40)),
      v.pipe(v.string(), v.maxLength(500)),
    ),
    v.check((record) => Object.keys(record).length <= 50),
  ),
]);
export type MetadataParam = v.InferOutput<typeof metadata>;

export function withMetadata(
  before: Readonly<Record<string, string>>,
  change: MetadataParam | undefined,
): Record<string, string> {
  if (change === '') return {};
  const after = Object.entries({ ...before, ...change }).filter(([, value]) => value !== '');
  return Object.fromEntries(after);
}

/**
 * A reader of the parameters `P` of the SDK: those that the fake uses, and those that it accepts and
 * ignores. A name that the SDK lacks does not compile; a name in neither list is refused, as by the
 * real Stripe.
 */
export function parametersOf<P>() {
  return <const E extends v.ObjectEntries>(
    entries: E & { [K in Exclude<keyof E, keyof P>]: never },
    unheeded: readonly (keyof P & string)[] = [],
  ) => {
    const known = new Set([...Object.keys(entries), ...unheeded, 'expand']);
    const schema = v.object<E>(entries);
    return (params: Params): v.InferOutput<typeof schema> => {
      const unknown = Object.keys(params).find((name) => !known.has(name));
      if (unknown !== undefined) {
        throw invalid(`Received unknown parameter: ${unknown.slice(0, 60)}`, {
          code: 'parameter_unknown',
          param: unknown.slice(0, 60),
        });
      }
      const parsed = v.safeParse(schema, params);
      if (parsed.success) return parsed.output;
      throw badParameter(parsed.issues[0]);
    };
  };
}

function badParameter(issue: v.BaseIssue<unknown>): WireError {
  const keys = (issue.path ?? []).map(({ key }) => String(key));
  const param = keys.map((key, index) => (index === 0 ? key : `[${key}]`)).join('');
  if (issue.input === undefined)
    return invalid(`Missing required param: ${param}.`, { code: 'parameter_missing', param });
  if (issue.input === '')
    return invalid(`You passed an empty string for '${param}'.`, {
      code: 'parameter_invalid_empty',
      param,
    });
  return issue.type === 'regex'
    ? invalid(`Invalid integer: ${param}`, { code: 'parameter_invalid_integer', param })
    : invalid(`Invalid ${param}`, { param });
}

// --- lists ---

export type Page<T> = { object: 'list'; data: T[]; has_more: boolean; url: string };

const range = v.union([
  integer,
  v.object({
    gt: v.optional(integer),
    gte: v.optional(integer),
    lt: v.optional(integer),
    lte: v.optional(integer),
  }),
]);

const limit = v.pipe(v.string(), v.regex(/^(?:[1-9]\d?|100)$/), v.transform(Number));

/** Beside these, each list has fields of its own. */
export const listFields = {
  limit: v.optional(limit, '10'),
  starting_after: v.optional(text),
  ending_before: v.optional(text),
  created: v.optional(range),
};

type ListParams = {
  limit: number;
  starting_after?: string | undefined;
  ending_before?: string | undefined;
  created?: v.InferOutput<typeof range> | undefined;
};

/** Rows come oldest first and are listed newest first, as everywhere in this API. */
export function pageOf<T extends { id: string; created?: number }>(
  rows: readonly T[],
  params: ListParams,
  url: string,
): Page<T> {
  const all = rows.filter(({ created }) => isWithin(created, params.created)).toReversed();
  const { limit: size, starting_after: after, ending_before: before } = params;
  if (before !== undefined) {
    const end = positionOf(all, before, 'ending_before');
    const start = Math.max(0, end - size);
    return { object: 'list', data: all.slice(start, end), has_more: start > 0, url };
  }
  const start = after === undefined ? 0 : positionOf(all, after, 'starting_after') + 1;
  const data = all.slice(start, start + size);
  return { object: 'list', data, has_more: start + size < all.length, url };
}

function positionOf(rows: readonly { id: string }[], id: string, param: string): number {
  const at = rows.findIndex((row) => row.id === id);
  if (at === -1) throw missing('object', id, param, 400);
  return at;
}

function isWithin(created: number | undefined, wanted: ListParams['created']): boolean {
  if (wanted === undefined || created === undefined) return true;
  if (typeof wanted === 'number') return created === wanted;
  return (
    (wanted.gt === undefined || created > wanted.gt) &&
    (wanted.gte === undefined || created >= wanted.gte) &&
    (wanted.lt === undefined || created < wanted.lt) &&
    (wanted.lte === undefined || created <= wanted.lte)
  );
}

// --- expanding ---

/** Members that an object has only when the call expands them. */
export type Included = (object: StoredObject, name: string) => unknown;

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** The answer with whole objects in place of the ids that `expand[]` names. */
export function expanded(
  store: Store,
  included: Included,
  answer: unknown,
  paths: Param | undefined,
): unknown {
  const wanted = v.safeParse(v.optional(v.array(v.string()), []), paths);
  if (!wanted.success) throw invalid('Invalid expand', { param: 'expand' });
  let result = plain(answer);
  for (const path of wanted.output) {
    if (path.split('.').length > 5)
      throw invalid(`You cannot expand more than 4 levels of a property: ${path}`);
    result = expandedAt(result, path.split('.'), path);
  }
  return result;

  function expandedAt(value: Json, path: readonly string[], whole: string): Json {
    const [name, ...rest] = path;
    if (name === undefined) return value;
    if (Array.isArray(value)) return value.map((one) => expandedAt(one, path, whole));
    if (value === null) return null;
    if (typeof value !== 'object') throw cannotExpand(whole);
    const member = memberOf(value, name);
    if (member === undefined) throw cannotExpand(whole);
    return { ...value, [name]: expandedAt(inFull(member), rest, whole) };
  }

  function memberOf(value: { [name: string]: Json }, name: string): Json | undefined {
    const present = value[name];
    if (present !== undefined) return present;
    const id = value['id'];
    const object = typeof id === 'string' ? store.find(id) : null;
    const extra = object === null ? undefined : included(object, name);
    return extra === undefined ? undefined : plain(extra);
  }

  function inFull(member: Json): Json {
    if (typeof member !== 'string') return member;
    const object = store.find(member);
    return object === null ? member : plain(object);
  }
}

function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

function cannotExpand(path: string): WireError {
  return invalid(`This property cannot be expanded (${path}).`, { param: 'expand' });
}
