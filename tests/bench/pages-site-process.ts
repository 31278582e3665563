import process from 'node:process';
import { browserPath } from '#tests/web/support/browser.ts';
import { serveSite } from '#tests/web/support/site.ts';

/** Serves the built pages until it is ended; prints their address and the browser's path. */
const site = await serveSite();
process.stdout.write(`${site.origin} ${await browserPath()}\n`);
