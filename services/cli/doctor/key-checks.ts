import { counted } from '#services/cli/command.ts';
import { createSealer, IntegrityError } from '#services/platform/seal.ts';
import { ok, warning, wrong } from './finding.ts';
import type { Check } from './finding.ts';

/** Of the oldest and of the newest data keys each: a rotation leaves the old ones for last. */
const sampled = 500;

const dataKeys: Check = {
  name: 'DATA_KEY',
  async runOnDatabase({ env, database: { pool } }) {
    const { rows } = await pool.query<{ key_id: string }>(
      `(select key_id from data_key order by created_at limit $1)
       union (select key_id from data_key order by created_at desc limit $1)`,
      [sampled],
    );
    const sealer = createSealer({ dataKeys: env.dataKeys, pool });
    const opened = await Promise.all(
      rows.map(async ({ key_id: keyId }) =>
        sealer.macKey(keyId).then(
          () => true,
          (error: unknown) => {
            if (error instanceof IntegrityError) return false;
            throw error;
          },
        ),
      ),
    );
    const closed = opened.filter((isOpened) => !isOpened).length;
    const keys = counted(env.dataKeys.length, 'key');
    return closed === 0
      ? [ok(`${keys} set; all ${rows.length} data keys that were tried can be opened`)]
      : [
          wrong(
            `${keys} set; only ${rows.length - closed} of the ${rows.length} data keys that were tried can be opened`,
            'add the key that wrapped them: texts under the others cannot be read',
          ),
        ];
  },
};

const signingKeys: Check = {
  name: 'JWT_KEYS',
  run: async ({ env }) =>
    env.jwtKeys.length > 2
      ? [
          warning(
            `${env.jwtKeys.length} keys are set, all of which verify tokens`,
            'remove those that a rotation has retired: run keys rotate --jwt',
          ),
        ]
      : [ok(`${counted(env.jwtKeys.length, 'key')} set`)],
};

export const keyChecks: readonly Check[] = [dataKeys, signingKeys];
