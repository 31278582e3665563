import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import { tanstackRouter } from '@tanstack/router-plugin/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin, type ProxyOptions } from 'vite';
import { loadCatalogue } from '#services/models/catalogue.ts';
import { packages } from '#services/payments/catalogue.ts';
import { claimsShown } from './src/features/home/claims-shown.ts';
import type { Marketing } from './src/features/home/claims-shown.ts';
import { filmOf } from './src/features/example/film-of-run.ts';
import type { Recording } from './src/features/example/recording.ts';
import { isLoopbackAddress } from '#services/platform/http/client-address.ts';
import { contentFacts } from './content-facts.ts';
import { documents } from './documents.ts';
import { prerender } from './prerender.ts';
import { silentSchemas } from './silent-schemas.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** Modules of every signed-in page: the cache, the stream, the bar. */
const memberParts =
  /@tanstack\/(react-)?query|lucide-react|web\/src\/(api\/query-|live\/|member\/(preferences|bell\/browser)\.|features\/(?!onboarding|optimize|purchase|recipes)([\w/]+\/([\w-]+-)?queries|credits\/(badge|tier))|ui\/(\w+\/)?(relative-time|avatar|tile|progress-bar|empty-state|day|save-file|outside-link|csv)\b)/;

/** The bar and what surrounds a signed-in page; the palette is loaded when it is opened. */
const shellParts = /web\/src\/member\/(member-shell|member-bar|tier-name)/;
/** Loaded once the page is drawn. */
const extraParts = /web\/src\/member\/(?!palette)/;

/**
 * Schema builders have no side effects, but the bundler cannot see that through `v.`. Marking each
 * call as pure lets it drop the schemas that no page uses.
 */
const pureSchemas: Plugin = {
  name: 'pure-schemas',
  enforce: 'pre',
  transform: {
    filter: { id: /services\/\w+\/contract(?:\/[\w-]+)?\.ts$/ },
    handler: (code) => code.replaceAll(/\bv\.(?!parse|safeParse)\w+\(/g, '/*#__PURE__*/ $&'),
  },
};

/** What only the prerenderer reads of a route; every page loads the route tree. */
const leanRoutes: Plugin = {
  name: 'lean-routes',
  enforce: 'pre',
  applyToEnvironment: ({ name }) => name === 'client',
  transform: {
    filter: { id: /web\/src\/routes\/[^?]+\.tsx/ },
    handler: (code) =>
      code.replaceAll(/^\s+(?:description:\s+(['"]).*\1|prerender: true|noindex: .*),\n/gm, '\n'),
  },
};

/** Vite wraps each import in code that loads a style sheet of its own first. No part of ours has one. */
const plainImports: Plugin = {
  name: 'plain-imports',
  enforce: 'pre',
  load: {
    filter: { id: /vite\/preload-helper/ },
    handler: () => 'export const __vitePreload = (load) => load();',
  },
};

/** React's tools for developers are part of `npm run dev` alone. */
const noDevelopersTools: Plugin = {
  name: 'no-developers-tools',
  apply: 'build',
  config: () => ({ define: { __REACT_DEVTOOLS_GLOBAL_HOOK__: 'undefined' } }),
};

/** Credits of a run by strategy, the cheapest first. */
const runPrices = loadCatalogue(process.env['MODELS_FILE'] || null)
  .strategies.map(({ name, credits }) => ({ strategy: name, credits }))
  .toSorted((one, other) => one.credits - other.credits);

/** Null without any, so that the footer of most sites has no code for them. */
/** `web/build.ts` puts the finished folder in place of the last one, which may be in use. */
const dist = here(process.env['WEB_DIST'] ?? './dist');
const socialLinks = process.env['SOCIAL_LINKS'] ? process.env['SOCIAL_LINKS'].split(' ') : null;

/** The footer links to such a page only when there is something on it. */
const hasContent = (folder: string): boolean =>
  globSync(here(`./content/${folder}/*.md`)).length > 0;
const film = filmOf(
  JSON.parse(readFileSync(here('./content/example-run.json'), 'utf8')) as Recording,
);

const marketing = JSON.parse(readFileSync(here('./content/marketing.json'), 'utf8')) as Marketing;

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
    'import.meta.env.ANALYTICS_URL': JSON.stringify(process.env['ANALYTICS_URL'] ?? ''),
    'import.meta.env.SOCIAL_LINKS': JSON.stringify(socialLinks),
    'import.meta.env.HAS_POSTS': JSON.stringify(hasContent('blog')),
    'import.meta.env.HAS_POSITIONS': JSON.stringify(hasContent('careers')),
    'import.meta.env.BUILD_YEAR': JSON.stringify(new Date().getFullYear()),
    // The home page is sent with the server's own prices, so there is no second list of them.
    'import.meta.env.PACKAGES': JSON.stringify(packages),
    'import.meta.env.RUN_PRICES': JSON.stringify(runPrices),
    'import.meta.env.EXAMPLE_FILM': JSON.stringify(film),
    'import.meta.env.CLAIMS': JSON.stringify(claimsShown(marketing)),
    'import.meta.env.SHOWS_MOST_POPULAR': JSON.stringify(marketing.shown.mostPopular),
    'import.meta.env.SHOWS_PRO_CLAIM': JSON.stringify(marketing.shown.pro),
  },
  resolve: {
    alias: {
      // The shim is for versions of React that lack the hook.
      'use-sync-external-store/shim/with-selector': 'use-sync-external-store/with-selector',
    },
  },
  plugins: [
    documents(contentFacts(process.env)),
    silentSchemas,
    leanRoutes,
    noDevelopersTools,
    plainImports,
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
    outDir: dist,
    emptyOutDir: true,
    manifest: true,
    // The list of what each page imports is 2 kB of every first load. A link that is pointed at loads its
    // page ahead, and prerendered pages name their scripts.
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      input: { index: here('./index.html'), start: here('./src/start.ts') },
      output: {
        // Left alone, every module that two pages share becomes a file and a request of its own.
        codeSplitting: {
          groups: [
            // The starter stands alone: it is what loads the rest.
            { name: 'start', test: /web\/src\/start\.ts$/, priority: 3 },
            { name: 'base', tags: ['$initial'], priority: 2 },
            { name: 'contracts', test: /services\/(credits|payments)\/contract/, priority: 2 },
            {
              name: 'figures',
              test: /web\/src\/ui\/(text\/figures|feedback\/status)\.|platform\/(numbers|locale)\.|react-router\/dist\/esm\/useLocation/,
              priority: 2,
            },
            // Of the terms and three signed-in pages.
            { name: 'price', test: /refinement\/price\./, priority: 2 },
            // After 'figures', from which it would take what writes numbers.
            // What every signed-in page needs of runs; 'runs' are the words for one.
            {
              name: 'run-facts',
              test: /services\/optimizations\/(contract\/\w+|check\/questions|reading\/view|run\/(slots|events|second-ballot))\./,
              priority: 2,
            },
            { name: 'runs', test: /services\/optimizations\//, priority: 2 },
            {
              name: 'parts',
              test: /web\/src\/(ui\/(card|hydrated)|app\/local-mode)\./,
              priority: 2,
            },
            // Beside the base, which names it and never uses it.
            { name: 'locales', test: /identity\/contract\/locales\./, priority: 3 },
            // What the device keeps; public pages have forms, too. Before 'shell', which would take it.
            { name: 'device', test: /web\/src\/consent\/(device|places)\./, priority: 2 },
            // Of the player on public pages, too; else 'extras' would take it.
            { name: 'ring', test: /web\/src\/ui\/ring\./, priority: 2 },
            // Of every page; its parts would otherwise bring visitors the whole shell.
            {
              name: 'footer',
              test: /web\/src\/(features\/shell\/(footer|theme-switch)|ui\/form\/choice)\./,
              priority: 2,
            },
            // Also of public pages that sign no one in. Before 'shell', which would take it.
            {
              name: 'fields',
              test: /web\/src\/(ui\/form\/(form|field|password-field)|features\/identity\/(form-failure|sessions\/(use-return|return-path)))\.|identity\/contract\/forms\./,
              priority: 2,
            },
            { name: 'shell', test: shellParts, priority: 2 },
            { name: 'member', test: memberParts, priority: 1 },
            // Last, so that it takes nothing that other pages need.
            { name: 'extras', test: extraParts, priority: 0 },
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
        dist,
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
