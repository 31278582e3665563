import type * as v from 'valibot';
import type { endpoints } from '#services/http/endpoints.ts';

/**
 * The endpoints of the API as types: which paths there are, what each takes and answers. Only types, so
 * that nothing of the description is loaded by a page.
 */
type Endpoints = typeof endpoints;
type Name = keyof Endpoints;
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type NameOf<M extends Method> = Extract<Name, `${M} ${string}`>;
type Template<N> = N extends `${string} ${infer Path}` ? Path : never;

/** Any path that `/auth/sessions/{id}` stands for. */
type Filled<Path> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Filled<After>}`
  : Path;

/** The paths that a method can be used with. */
export type PathOf<M extends Method> = Filled<Template<NameOf<M>>> & string;

/** What a path is of: `/recipes/me` of itself, `/recipes/rec_…` of the one with a field. */
type EndpointOf<M extends Method, P extends string> = `${M} ${P}` extends infer Whole extends Name
  ? Endpoints[Whole]
  : { [N in NameOf<M>]: P extends Filled<Template<N>> ? Endpoints[N] : never }[NameOf<M>];

/** What an answer's `data` holds. */
export type ReplyOf<M extends Method, P extends string> =
  EndpointOf<M, P> extends { reply: infer Reply extends v.GenericSchema }
    ? v.InferOutput<Reply>
    : never;

/** One item of a list that comes whole. */
export type ItemOf<P extends string> =
  EndpointOf<'GET', P> extends { whole: infer Whole extends v.GenericSchema<unknown, List> }
    ? v.InferOutput<Whole>['data'][number]
    : never;
type List = { data: readonly unknown[] };

/** Numbers may be given as numbers; on the way everything is a text. */
export type QueryOf<P extends string> =
  EndpointOf<'GET', P> extends { query: infer Query extends v.GenericSchema }
    ? {
        readonly [Key in keyof v.InferInput<Query>]?: v.InferInput<Query>[Key] | number | undefined;
      }
    : Readonly<Record<string, never>>;

export type BodyOf<M extends Method, P extends string> =
  EndpointOf<M, P> extends { body: infer Body extends v.GenericSchema }
    ? v.InferInput<Body>
    : Readonly<Record<string, never>>;

/** Holds where everything that the server may answer is something that the schema answers, too. */
export type Reads<Reply, Schema extends v.GenericSchema> =
  Reply extends v.InferOutput<Schema> ? unknown : 'The schema reads something else';
