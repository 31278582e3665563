/** How long our webhook may take: it only stores the event. */
const timeoutMs = 10_000;

const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/**
 * Webhook events to our own endpoint. They use the API's listening address: PUBLIC_URL may not be
 * reachable from inside.
 */
export function deliverTo(place: {
  host: string;
  port: number;
}): (body: string, signature: string) => Promise<number> {
  const host = everywhere[place.host] ?? place.host;
  const name = host.includes(':') ? `[${host}]` : host;
  const url = `http://${name}:${place.port}/api/webhooks/stripe`;
  return async (body, signature) => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'stripe-signature': signature },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    await answer.body?.cancel();
    return answer.status;
  };
}
