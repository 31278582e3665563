import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describeApi } from '#services/http/openapi.ts';

/** `npm run check`: the description of the API against the rules that Redocly recommends, all of them. */
const publicUrl = 'https://sevenfold.invalid';
const problems = await lintFromString({
  source: JSON.stringify(describeApi({ productName: 'Sevenfold', publicUrl })),
  absoluteRef: 'openapi.json',
  config: await createConfig({ extends: ['recommended-strict'] }),
});
for (const { ruleId, message, location } of problems)
  console.error(`${ruleId}: ${message} (${location[0]?.pointer ?? ''})`);
if (problems.length > 0) process.exitCode = 1;
