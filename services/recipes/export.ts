import type pg from 'pg';
import type { ExportPart } from '#services/platform/export.ts';
import type { Sealer } from '#services/platform/seal.ts';
import { ownRecipes } from './recipes.ts';

const tables = {
  recipes: [
    'id',
    'title',
    'category',
    'summary',
    'challenge',
    'objectives',
    'constraints',
    'strategy',
    'times_used',
    'created_at',
    'updated_at',
  ],
} as const;

/** The user's own recipes. */
export function recipeExport({ pool, sealer }: { pool: pg.Pool; sealer: Sealer }): ExportPart {
  return {
    tables,
    async *rows(userId) {
      for (const recipe of await ownRecipes(pool, sealer, userId)) yield ['recipes', recipe];
    },
  };
}
