import { readFileSync } from 'node:fs';

const manifest = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
) as { version: string };

/** The release. Its only source is `package.json`. */
export const softwareVersion = manifest.version;
