import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import { tanstackRouter } from '@tanstack/router-plugin/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin, type ProxyOptions } from 'vite';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { packages } from '#services/payments/catalogue.ts';
import { isLoopbackAddress } from '#services/platform/http/client-address.ts';
import { documents } from './documents.ts';
import { prerender } from './prerender.ts';
import { silentSchemas } from './silent-schemas.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Modules of the login and sign-up pages; below, identity modules only other pages need. */
const formParts = /web\/src\/(ui\/form\/(form|field|password-field)|features\/identity\/)/;
const onlyForLandings =
  /identity\/(?:\w+\/)?(sign-in-again|\w+-page|magic-arrival|token-checks|error-sentence|confirmation|mailbox|link-words)\./;

/** Modules of every signed-in page: the cache, the stream, the bar. */
const memberParts =
  /@tanstack\/(react-)?query|lucide-react|web\/src\/(api\/query-|live\/|app\/member-shell|features\/([\w/]+\/([\w-]+-)?queries|credits\/(badge|tier)|shell\/member-bar)|ui\/(\w+\/)?(relative-time|avatar|tile|table-toggle|progress-bar|ring|empty-state|day|save-file|outside-link|csv)\b)/;

/**
 * Schema builders have no side effects, but the bundler cannot see that through `v.`. Marking each
 * call as pure lets it drop the schemas that no page uses.
 */
const pureSchemas: Plugin = {
  name: 'pure-schemas',
  enforce: 'pre',
  transform: {
    filter: { id: /services\/\w+\/contract(?:\/\w+)?\.ts$/ },
    handler: (code) => code.replaceAll(/\bv\.(?!parse|safeParse)\w+\(/g, '/*#__PURE__*/ $&'),
  },
};

/** Credits of a run by strategy, the cheapest first. */
const runPrices = loadCatalogue(process.env['MODELS_FILE'] || null)
  .strategies.map(({ name, credits }) => ({ strategy: name, credits }))
  .toSorted((one, other) => one.credits - other.credits);

/** The proxy makes every call look local, and local calls may open the mailbox: forward the real address. */
const forwardAddress: ProxyOptions['configure'] = (proxy) => {
  proxy.on('proxyReq', (onward, { socket }) => {
    const address = socket.remoteAddress ?? '';
    if (!isLoopbackAddress(address)) onward.setHeader('x-forwarded-for', address);
  });
};

/**
 * `vite build --config web/vite.config.ts` builds everything the server sends. It builds the browser's
 * files, then the same pages for Node, which renders the public ones to HTML. One command does both,
 * so a page is never older than its script.
 */
export default defineConfig({
  root: here('.'),
  define: {
    'import.meta.env.PRODUCT_NAME': JSON.stringify(process.env['PRODUCT_NAME'] || 'Sevenfold'),
    'import.meta.env.CONTACT_EMAIL': JSON.stringify(process.env['CONTACT_EMAIL'] ?? ''),
    // The home page is sent with the server's own prices, so there is no second list of them.
    'import.meta.env.PACKAGES': JSON.stringify(packages),
    'import.meta.env.RUN_PRICES': JSON.stringify(runPrices),
  },
  resolve: {
    alias: {
      // The shim is for versions of React that lack the hook.
      'use-sync-external-store/shim/with-selector': 'use-sync-external-store/with-selector',
    },
  },
  plugins: [
    documents,
    silentSchemas,
    pureSchemas,
    tanstackRouter({
      target: 'react',
      routesDirectory: here('./src/routes'),
      generatedRouteTree: here('./src/app/route-tree.gen.ts'),
      tmpDir: here('./.tanstack'),
      addExtensions: true,
      autoCodeSplitting: true,
      // A loader imports queries and contracts, which are not needed before its page is opened.
      codeSplittingOptions: {
        defaultBehavior: [['loader', 'component'], ['pendingComponent'], ['errorComponent']],
      },
      disableLogging: true,
    }),
    react(),
    tailwindcss(),
  ],
  build: {
    outDir: here('./dist'),
    emptyOutDir: true,
    manifest: true,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        // Left alone, every module that two pages share becomes a file and a request of its own.
        codeSplitting: {
          groups: [
            { name: 'base', tags: ['$initial'], priority: 2 },
            { name: 'contracts', test: /services\/(credits|payments)\/contract/, priority: 2 },
            {
              name: 'figures',
              test: /web\/src\/ui\/(text\/figures|feedback\/status)\.|platform\/numbers\.|refinement\/price\.|react-router\/dist\/esm\/useLocation/,
              priority: 2,
            },
            // After 'figures', from which it would take what writes numbers.
            // What every signed-in page needs of runs; 'runs' are the words for one.
            {
              name: 'run-facts',
              test: /services\/optimizations\/(contract\/\w+|check\/questions|reading\/view|run\/(slots|events|second-ballot))\./,
              priority: 2,
            },
            { name: 'runs', test: /services\/optimizations\//, priority: 2 },
            { name: 'parts', test: /web\/src\/ui\/(card|hydrated)\./, priority: 2 },
            { name: 'member', test: memberParts, priority: 1 },
            {
              name: 'forms',
              test: (id) => formParts.test(id) && !onlyForLandings.test(id),
              priority: 1,
            },
          ],
        },
      },
    },
  },
  environments: {
    ssr: {
      build: {
        outDir: here('./.tanstack/prerender'),
        manifest: false,
        copyPublicDir: false,
        rolldownOptions: { input: here('./src/app/prerender.tsx') },
      },
    },
  },
  builder: {
    async buildApp(builder) {
      const { client, ssr } = builder.environments;
      if (!client || !ssr) throw new Error('The build needs a browser and a server environment');
      await builder.build(client);
      await builder.build(ssr);
      await prerender({
        dist: here('./dist'),
        renderer: here('./.tanstack/prerender/prerender.js'),
      });
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/.well-known', '/dev/'].map((path) => [
        path,
        {
          target: process.env['API_ORIGIN'] ?? 'http://127.0.0.1:3000',
          changeOrigin: true,
          configure: forwardAddress,
        },
      ]),
    ),
  },
});
