import { afterRestoreCommand } from './backup/after-restore.ts';
import { create } from './backup/create.ts';
import { list } from './backup/list.ts';
import { restore } from './backup/restore.ts';
import { verify } from './backup/verify.ts';

export const backupCommands = [create, list, verify, restore, afterRestoreCommand] as const;
