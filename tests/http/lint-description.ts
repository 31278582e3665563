import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describeApi } from '#services/http/openapi.ts';

/** `npm run check`: lints the description of the API by all rules that Redocly recommends. */
const publicUrl = 'https://sevenfold.invalid';
const problems = await lintFromString({
  source: JSON.stringify(describeApi({ productName: 'Sevenfold', publicUrl })),
  absoluteRef: 'openapi.json',
  config: await createConfig({ extends: ['recommended-strict'] }),
});
for (const { ruleId, message, location } of problems)
  console.error(`${ruleId}: ${message} (${location[0]?.pointer ?? ''})`);
if (problems.length > 0) process.exitCode = 1;
