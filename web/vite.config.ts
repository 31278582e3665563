import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import { tanstackRouter } from '@tanstack/router-plugin/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin, type ProxyOptions } from 'vite';
import { strategies } from '#services/models/strategies.ts';
import { packages } from '#services/payments/catalogue.ts';
import { isLoopbackAddress } from '#services/platform/http/client-address.ts';
import { prerender } from './prerender.ts';
import { silentSchemas } from './silent-schemas.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What the pages to sign in and up are made of, and of identity what only other pages need. */
const formParts = /web\/src\/(ui\/form\/(form|field|password-field)|features\/identity\/)/;
const onlyForLandings =
  /identity\/(?:\w+\/)?(sign-in-again|\w+-page|magic-arrival|token-checks|error-sentence|confirmation|mailbox|link-words|verifier|use-follow)\./;

/** What every page of somebody who is signed in needs: the cache, the stream, the bar. */
const memberParts =
  /@tanstack\/(react-)?query|lucide-react|web\/src\/(api\/query-|live\/|app\/member-shell|features\/([\w/]+\/([\w-]+-)?queries|credits\/(badge|tier)|shell\/member-bar)|ui\/(\w+\/)?(relative-time|avatar|tile|table-toggle|progress-bar|ring|empty-state|day|save-file|outside-link|csv)\b)/;

/**
 * Every builder of a schema is free of side effects, which the bundler does not see through `v.`. Told
 * so at each call, it leaves out the schemas that no page uses.
 */
const pureSchemas: Plugin = {
  name: 'pure-schemas',
  enforce: 'pre',
  transform: {
    filter: { id: /services\/\w+\/contract\.ts$/ },
    handler: (code) => code.replaceAll(/\bv\.(?!parse|safeParse)\w+\(/g, '/*#__PURE__*/ $&'),
  },
};

/** What a run costs by strategy, the cheapest first. */
const runPrices = strategies
  .map(({ name, credits }) => ({ strategy: name, credits }))
  .toSorted((one, other) => one.credits - other.credits);

/** To the API every call is from this machine, which opens the mailbox: it is told whose are not. */
const tellStrangers: ProxyOptions['configure'] = (proxy) => {
  proxy.on('proxyReq', (onward, { socket }) => {
    const address = socket.remoteAddress ?? '';
    if (!isLoopbackAddress(address)) onward.setHeader('x-forwarded-for', address);
  });
};

/**
 * `vite build --config web/vite.config.ts` makes everything the server sends: the browser's files,
 * then a build of the same pages for Node, which renders the public ones to HTML. Both are steps of
 * one command, so a page can never be older than its script.
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
    silentSchemas,
    pureSchemas,
    tanstackRouter({
      target: 'react',
      routesDirectory: here('./src/routes'),
      generatedRouteTree: here('./src/app/route-tree.gen.ts'),
      tmpDir: here('./.tanstack'),
      addExtensions: true,
      autoCodeSplitting: true,
      // A loader names queries and contracts, which nobody needs before they open its page.
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
              test: /web\/src\/ui\/(text\/figures|feedback\/status)\.|platform\/numbers\.|react-router\/dist\/esm\/useLocation/,
              priority: 2,
            },
            // After 'figures', from which it would take what writes numbers.
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
          configure: tellStrangers,
        },
      ]),
    ),
  },
});
