import { notFound, readBytes } from '#services/platform/http/http.ts';
import type { Handlers } from '#services/platform/http/serve.ts';
import { encodeAvatar, readAvatar, removeAvatar, storeAvatar } from './avatar.ts';
import { avatarLimits } from '#services/identity/contract.ts';
import type { identityEndpoints } from '#services/identity/contract.ts';
import { askForErasure } from '#services/identity/erasure/erasure.ts';
import type { AskDependencies } from '#services/identity/erasure/erasure.ts';
import type { ExportPerson } from './export.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { changeProfile, readProfile } from './profile.ts';
import type { ProfileDependencies } from './profile.ts';
import { requirePassword, requireRecentProof } from '#services/identity/sessions/proof.ts';
import type { ProofDependencies } from '#services/identity/sessions/proof.ts';
import type { ErasureLog } from '#services/platform/process/erasure-log.ts';
import { clearSessionCookie } from '#services/identity/sessions/cookie.ts';

export type AccountDependencies = ProfileDependencies &
  ProofDependencies &
  AskDependencies & { exportPerson: ExportPerson; erasureLog: ErasureLog };

/** A person's own account: what it shows, what can be changed, and the picture. */
export function accountHandlers(dependencies: AccountDependencies) {
  const { pool, audit } = dependencies;
  return {
    'GET /users/me': async ({ userId }) => readProfile(dependencies, userId),
    'PATCH /users/me': async ({ userId, body }) => {
      await changeProfile(dependencies, userId, body);
      return readProfile(dependencies, userId);
    },
    'GET /users/me/export': async ({ context, userId }) => {
      await requireRecentProof(dependencies, context);
      const address = context.get('address');
      await dependencies.rateLimits.take('export', userId, { userId, address });
      const document = await dependencies.exportPerson(userId);
      await audit({ actor: userId, action: 'account.exported', subject: userId, userId });
      return context.body(streamOf(inEnvelope(document)), 200, {
        'Content-Type': 'application/json',
        'Cache-Control': 'no-store',
      });
    },
    'DELETE /users/me': async ({ context, userId, body: { password } }) => {
      if (password === undefined) await requireRecentProof(dependencies, context);
      else await requirePassword(dependencies, context, password);
      await askForErasure(dependencies, { userId, actor: userId });
      clearSessionCookie(context, dependencies.publicUrl);
      return { id: userId, deleted: true as const };
    },
    'PUT /users/me/avatar': async ({ context, userId }) => {
      await dependencies.rateLimits.take('avatars', userId, { userId });
      const bytes = await readBytes(context, avatarLimits.bytes, () =>
        identityProblem('avatar-too-large'),
      );
      const avatar = await encodeAvatar(context.req.header('content-type') ?? '', bytes);
      await storeAvatar(pool, userId, avatar);
      return readProfile(dependencies, userId);
    },
    'DELETE /users/me/avatar': async ({ userId }) => {
      await removeAvatar(pool, userId);
      return { id: userId, deleted: true as const };
    },
    'GET /avatars/{id}': async ({ context, path }) => {
      const avatar = await readAvatar(pool, path.id);
      if (!avatar) throw notFound();
      return context.body(Uint8Array.from(avatar), 200, {
        'Content-Type': 'image/webp',
        'Content-Disposition': 'inline',
        'X-Content-Type-Options': 'nosniff',
        'Content-Security-Policy': "sandbox; default-src 'none'",
        'Cross-Origin-Resource-Policy': 'same-origin',
        'Cache-Control': 'private, max-age=3600',
      });
    },
  } satisfies Partial<Handlers<typeof identityEndpoints>>;
}

function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const next = await chunks.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });
}

async function* inEnvelope(document: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{"data":');
  yield* document;
  yield Buffer.from('}');
}
