import { UsageError } from '#services/cli/command.ts';
import type { Database, Reading } from '#services/cli/database.ts';

/** For the options of a command that an auditor does not have. @throws UsageError */
export function asOperator(database: Reading): Database {
  if (database.ownerPool !== null) return database;
  throw new UsageError('An auditor has no keys: --open is for operators');
}
