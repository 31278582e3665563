/**
 * A `fetch` for a server on this machine. The usual one gives up after five minutes without an answer,
 * which a processor alone may need for a prompt; our own clock ends a call that is silent for too long.
 * Loaded once, for its connections.
 */
export const loadPatientFetch = async (): Promise<typeof fetch> => (loaded ??= load());

let loaded: ReturnType<typeof load> | null = null;

async function load(): Promise<typeof fetch> {
  const { Agent, fetch: fetchBy } = await import('undici');
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return async (input, init) => {
    const url = input instanceof Request ? input.url : input;
    // The package's own types differ from the language's in what no caller uses.
    const options = { ...init, dispatcher } as NonNullable<Parameters<typeof fetchBy>[1]>;
    const answer: unknown = await fetchBy(url, options);
    const { body, status, headers } = answer as Response;
    return new Response(body, { status, headers: [...headers] });
  };
}
