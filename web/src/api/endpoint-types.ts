import type * as v from 'valibot';
import type { endpoints } from '#services/http/endpoints.ts';

/** The API's endpoints as types only, so that no page loads the description. */
type Endpoints = typeof endpoints;
type Name = keyof Endpoints;
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type NameOf<M extends Method> = Extract<Name, `${M} ${string}`>;
type Template<N> = N extends `${string} ${infer Path}` ? Path : never;

/** Any path that matches `/auth/sessions/{id}`. */
type Filled<Path> = Path extends `${infer Before}{${string}}${infer After}`
  ? `${Before}${string}${Filled<After>}`
  : Path;

/** The paths that accept a method. */
export type PathOf<M extends Method> = Filled<Template<NameOf<M>>> & string;

/** The endpoint of a path: an exact match comes before one with a parameter. */
type EndpointOf<M extends Method, P extends string> = `${M} ${P}` extends infer Whole extends Name
  ? Endpoints[Whole]
  : Endpoints[Narrowest<Fitting<M, P>>];

type Fitting<M extends Method, P extends string> = {
  [N in NameOf<M>]: P extends Filled<Template<N>> ? N : never;
}[NameOf<M>];

/** `/runs/{id}/claims` also fits `/runs/{id}`: the one whose paths all others fit. */
type Narrowest<All extends Name> = {
  [One in All]: [All] extends [Around<One, All>] ? One : never;
}[All];
type Around<One extends Name, All extends Name> = {
  [Other in All]: Filled<Template<One>> extends Filled<Template<Other>> ? Other : never;
}[All];

export type ReplyOf<M extends Method, P extends string> =
  EndpointOf<M, P> extends { reply: infer Reply extends v.GenericSchema }
    ? v.InferOutput<Reply>
    : never;

/** One item of an unpaged list. */
export type ItemOf<P extends string> =
  EndpointOf<'GET', P> extends { whole: infer Whole extends v.GenericSchema<unknown, List> }
    ? v.InferOutput<Whole>['data'][number]
    : never;
type List = { data: readonly unknown[] };

/** Numbers are accepted; in the query everything is text. */
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

/** Compiles only where the schema accepts everything the server may send. */
export type Reads<Reply, Schema extends v.GenericSchema> =
  Reply extends v.InferOutput<Schema> ? unknown : 'The schema reads something else';
