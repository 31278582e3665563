import { html } from 'hono/html';
import { checkModels } from '#services/models/catalogue/check.ts';
import type { CheckedProvider, Fault } from '#services/models/catalogue/check.ts';
import { connectedProviders } from '#services/models/catalogue/connected.ts';
import type { Connected } from '#services/models/catalogue/connected.ts';
import { everyModel } from '#services/models/estimate.ts';
import { findLocalServers } from '#services/models/local-servers.ts';
import type { LocalServer } from '#services/models/local-servers.ts';
import { providerDefinitions } from '#services/models/provider-list.ts';
import { modelRegistry } from '#services/models/registry.ts';
import type { ModelRegistry, RegistrySettings } from '#services/models/registry.ts';
import { modelsOf } from '#services/models/strategies.ts';
import { panelSentence, usualPanels } from '#services/optimizations/panel.ts';
import type { Panel, PanelDependencies } from '#services/optimizations/panel.ts';
import { createRouter } from '#services/platform/http/http.ts';
import { createPageFrame } from '#services/platform/http/page-frame.ts';
import type { Html } from '#services/platform/http/page-frame.ts';

export type DevModelsOptions = PanelDependencies & {
  settings: RegistrySettings;
  registry: ModelRegistry;
  productName: string;
  clock: () => number;
};

type Checked = { at: number; providers: readonly CheckedProvider[]; faults: readonly Fault[] };

/**
 * The models under `/dev/models`: what is connected, what a check says of it, and what each missing key
 * would add. A check calls every seated model once, so it runs only when it is asked for; this process
 * remembers the last one.
 */
export function devModels(options: DevModelsOptions) {
  const { settings, registry, productName, clock } = options;
  let checked: Checked | null = null;
  const connected = connectedProviders({ ...settings, sandboxUrl: null }, registry);
  const pages = createRouter();
  pages.get('/models', async (context) => {
    const [panels, additions, found] = await Promise.all([
      usualPanels(options),
      additionsOf(options),
      findLocalServers({
        ollamaUrl: settings.ollamaUrl,
        endpointUrls: settings.compatibleEndpoints.map(({ baseUrl }) => baseUrl),
      }),
    ]);
    const main = html`<h1>Models</h1>
      ${connections(connected, checked)} ${oldPrices(options)} ${strategies(panels)}
      ${missing(additions, found)}`;
    return context.html(frame.document(`Models · ${productName}`, main), 200, frame.headers());
  });
  pages.post('/models', async (context) => {
    checked = { at: clock(), ...(await check(options, connected)) };
    return context.redirect('/dev/models', 303);
  });
  return pages;
}

async function check(options: DevModelsOptions, connected: readonly Connected[]) {
  const { catalogue, registry, clock } = options;
  const seated = (await usualPanels(options)).flatMap((panel) =>
    everyModel(panel).map(({ offer }) => offer.model),
  );
  return checkModels({
    catalogue,
    connected,
    offers: await registry.offers(),
    seated: new Set(seated),
    wanted: new Set(catalogue.strategies.flatMap(modelsOf)),
    now: clock(),
  });
}

// ── what is missing ─────────────────────────────────────────────────────────────────────────────

/** What one more key would change. */
type Addition = {
  displayName: string;
  /** For `.env`. */
  line: string;
  panels: readonly Panel[];
};

async function additionsOf(options: DevModelsOptions): Promise<Addition[]> {
  const { settings, catalogue } = options;
  const missingKeys = providerDefinitions.filter(
    ({ name }) => name !== 'ollama' && (settings.providerKeys[name] ?? null) === null,
  );
  return Promise.all(
    missingKeys.map(async ({ name, displayName, keyVariable }) => {
      const providerKeys = { ...settings.providerKeys, [name]: 'a key' };
      const registry = modelRegistry({ ...settings, providerKeys }, catalogue);
      const panels = await usualPanels({ ...options, registry });
      return { displayName, line: `${keyVariable}=…`, panels };
    }),
  );
}

// ── the page ────────────────────────────────────────────────────────────────────────────────────

const frame = createPageFrame(`
table { width: 100%; border-collapse: collapse; }
th, td { padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line); text-align: start; vertical-align: top; }
th { color: var(--ink-2); font-weight: 500; }
.scroll { overflow-x: auto; }
code { padding: .125rem .375rem; border-radius: 4px; background: var(--sunken); overflow-wrap: anywhere; }
.bad { color: var(--bad); }
.warn { color: var(--warn); }
`);

function connections(connected: readonly Connected[], checked: Checked | null): Html {
  if (connected.length === 0)
    return html`<h2>Connected</h2>
      <p class="empty">No provider is connected, so every model is simulated.</p>`;
  const stateOf = (name: string) => {
    const found = checked?.providers.find((provider) => provider.name === name);
    if (found === undefined) return 'not checked yet';
    return found.listed === null
      ? 'not responding'
      : `${found.listed} models listed, ${found.answered} answered`;
  };
  return html`<h2>Connected</h2>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Provider</th>
            <th scope="col">Address</th>
            <th scope="col">Check</th>
          </tr>
        </thead>
        <tbody>
          ${connected.map(
            ({ name, displayName, host }) =>
              html`<tr>
                <td>${displayName}</td>
                <td>${host}</td>
                <td>${stateOf(name)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${faultsOf(checked)}
    <form method="post" action="/dev/models">
      <p>A check calls each model in use once, with one short question.</p>
      <button>Check now</button>
    </form>`;
}

function faultsOf(checked: Checked | null): Html {
  if (checked === null) return html``;
  const at = new Date(checked.at).toISOString();
  if (checked.faults.length === 0)
    return html`<p>Checked at <time datetime="${at}">${at}</time>: nothing is wrong.</p>`;
  return html`<p>Checked at <time datetime="${at}">${at}</time>:</p>
    <ul>
      ${checked.faults.map(
        ({ about, problem, remedy }) =>
          html`<li><span class="bad">${about}: ${problem}</span>; ${remedy}.</li>`,
      )}
    </ul>`;
}

function oldPrices({ catalogue, clock }: DevModelsOptions): Html {
  const models = catalogue.staleModels(new Date(clock()).toISOString());
  if (models.length === 0) return html``;
  return html`<h2>Old prices</h2>
    <p class="warn">Older than 30 days, or expired: ${models.join(', ')}.</p>
    <p><code>models sync</code> compares them with a public list.</p>`;
}

function strategies(panels: readonly Panel[]): Html {
  return html`<h2>Strategies now</h2>
    <dl>
      ${panels.map(
        (panel) =>
          html`<dt>${panel.strategy.name}</dt>
            <dd class="${panel.unavailable === null ? '' : 'warn'}">${panelSentence(panel)}</dd>`,
      )}
    </dl>`;
}

function missing(additions: readonly Addition[], found: readonly LocalServer[]): Html {
  return html`<h2>What one more key would change</h2>
    ${found.map(
      (server) =>
        html`<p>${server.found} is running on this machine. Add this line to use it:</p>
          <p><code>${server.line}</code></p>`,
    )}
    ${additions.map(
      (addition) =>
        html`<h3>${addition.displayName}: <code>${addition.line}</code></h3>
          <dl>
            ${addition.panels.map(
              (panel) =>
                html`<dt>${panel.strategy.name}</dt>
                  <dd class="${panel.unavailable === null ? '' : 'warn'}">
                    ${panelSentence(panel)}
                  </dd>`,
            )}
          </dl>`,
    )}
    <p>Add lines to <code>.env</code>, then restart.</p>`;
}
