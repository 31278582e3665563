import type pg from 'pg';
import type { ExportPart } from '#services/platform/export.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { readStored } from './answers.ts';

const columns = [
  'version',
  'currentStage',
  'auditData',
  'selectedChallenge',
  'demonstration',
  'question',
] as const;

/** The user's answers, as they were written. */
export function onboardingExport(store: { pool: pg.Pool; sealer: Sealer }): ExportPart {
  return {
    tables: { onboarding: columns },
    async *rows(userId) {
      const stored = await readStored(store, userId);
      if (stored === null) return;
      const answers = stored.text === null ? {} : (JSON.parse(stored.text) as object);
      yield ['onboarding', { version: stored.version, ...answers }];
    },
  };
}
