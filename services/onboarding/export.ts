import type pg from 'pg';
import type { ExportPart } from '#services/platform/export.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { readAnswers } from './answers.ts';

const columns = [
  'version',
  'currentStage',
  'auditData',
  'selectedChallenge',
  'demonstration',
  'question',
] as const;

/** The user's answers, opened. */
export function onboardingExport(store: { pool: pg.Pool; sealer: Sealer }): ExportPart {
  return {
    tables: { onboarding: columns },
    async *rows(userId) {
      const { version, answers } = await readAnswers(store, userId);
      if (version > 0) yield ['onboarding', { version, ...answers }];
    },
  };
}
