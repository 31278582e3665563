import { writeFileSync } from 'node:fs';
import { toJsonSchema } from '@valibot/to-json-schema';
import { catalogueFile } from '#services/models/catalogue.ts';

/** `node services/start.mjs tests/models/catalogue/write-schema.ts` writes the schema that editors check by. */

export function editorSchema(): unknown {
  return {
    ...toJsonSchema(catalogueFile, { typeMode: 'input', errorMode: 'ignore' }),
    title: 'Models and strategies',
  };
}

if (import.meta.main)
  writeFileSync(
    'services/models/catalogue.schema.json',
    `${JSON.stringify(editorSchema(), null, 2)}\n`,
  );
