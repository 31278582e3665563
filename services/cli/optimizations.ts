import type { CliCommand } from './command.ts';
import { exportEvidence } from './optimizations/export.ts';
import { verify } from './optimizations/verify.ts';

export const optimizationCommands: readonly CliCommand[] = [verify, exportEvidence];
