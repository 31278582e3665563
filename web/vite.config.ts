import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import { tanstackRouter } from '@tanstack/router-plugin/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { prerender } from './prerender.ts';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

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
  },
  plugins: [
    tanstackRouter({
      target: 'react',
      routesDirectory: here('./src/routes'),
      generatedRouteTree: here('./src/route-tree.gen.ts'),
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
            {
              name: 'forms',
              test: /web\/src\/(ui\/(form|field|password-field|card|hydrated)|features\/identity\/(?!sign-in-again))/,
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
        rolldownOptions: { input: here('./src/prerender.tsx') },
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
    proxy: { '/api': process.env['API_ORIGIN'] ?? 'http://127.0.0.1:3000' },
  },
});
