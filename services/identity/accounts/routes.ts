import { requireUser } from '#services/platform/http/auth.ts';
import type { Authenticate } from '#services/platform/http/auth.ts';
import { answer, bodyOf } from '#services/platform/http/endpoints.ts';
import { createRouter, notFound, readBytes } from '#services/platform/http/http.ts';
import type { HttpContext } from '#services/platform/http/http.ts';
import { encodeAvatar, readAvatar, removeAvatar, storeAvatar } from './avatar.ts';
import { avatarLimits } from '#services/identity/contract.ts';
import { identityEndpoints } from '#services/identity/endpoints.ts';
import { askForErasure } from '#services/identity/erasure/erasure.ts';
import type { AskDependencies } from '#services/identity/erasure/erasure.ts';
import type { ExportPerson } from './export.ts';
import { identityProblem } from '#services/identity/problems.ts';
import { changeProfile, readProfile } from './profile.ts';
import type { ProfileDependencies } from './profile.ts';
import { requirePassword, requireRecentProof } from '#services/identity/sessions/proof.ts';
import type { ProofDependencies } from '#services/identity/sessions/proof.ts';
import { clearSessionCookie } from '#services/identity/sessions/cookie.ts';

export type AccountDependencies = ProfileDependencies &
  ProofDependencies &
  AskDependencies & { exportPerson: ExportPerson };

/** A person's own account: what it shows, what can be changed, and the picture. */
export function accountRoutes(dependencies: AccountDependencies, authenticate: Authenticate) {
  const { pool, audit } = dependencies;
  const signedIn = requireUser(authenticate);
  const answerProfile = async (context: HttpContext) =>
    answer(
      context,
      identityEndpoints['GET /users/me'],
      await readProfile(dependencies, context.get('userId')),
    );
  return createRouter()
    .get('/users/me', signedIn, answerProfile)
    .patch('/users/me', signedIn, async (context) => {
      const change = await bodyOf(context, identityEndpoints['PATCH /users/me']);
      await changeProfile(dependencies, context.get('userId'), change);
      return answerProfile(context);
    })
    .get('/users/me/export', signedIn, async (context) => {
      await requireRecentProof(dependencies, context);
      const userId = context.get('userId');
      const address = context.get('address');
      await dependencies.rateLimits.take('export', userId, { userId, address });
      const document = await dependencies.exportPerson(userId);
      await audit({ actor: userId, action: 'account.exported', subject: userId, userId });
      return context.body(ReadableStream.from(inEnvelope(document)), 200, {
        'Content-Type': 'application/json',
        'Cache-Control': 'no-store',
      });
    })
    .delete('/users/me', signedIn, async (context) => {
      const { password } = await bodyOf(context, identityEndpoints['DELETE /users/me']);
      if (password === undefined) await requireRecentProof(dependencies, context);
      else await requirePassword(dependencies, context, password);
      const userId = context.get('userId');
      await askForErasure(dependencies, { userId, actor: userId });
      clearSessionCookie(context, dependencies.publicUrl);
      return answer(context, identityEndpoints['DELETE /users/me'], { id: userId, deleted: true });
    })
    .put('/users/me/avatar', signedIn, async (context) => {
      const bytes = await readBytes(context, avatarLimits.bytes, () =>
        identityProblem('avatar-too-large'),
      );
      const avatar = await encodeAvatar(context.req.header('content-type') ?? '', bytes);
      await storeAvatar(pool, context.get('userId'), avatar);
      return answerProfile(context);
    })
    .delete('/users/me/avatar', signedIn, async (context) => {
      const userId = context.get('userId');
      await removeAvatar(pool, userId);
      return answer(context, identityEndpoints['DELETE /users/me/avatar'], {
        id: userId,
        deleted: true,
      });
    })
    .get('/avatars/:id', async (context) => {
      const avatar = await readAvatar(pool, context.req.param('id'));
      if (!avatar) throw notFound();
      return context.body(Uint8Array.from(avatar), 200, {
        'Content-Type': 'image/webp',
        'Content-Disposition': 'inline',
        'X-Content-Type-Options': 'nosniff',
        'Content-Security-Policy': "sandbox; default-src 'none'",
        'Cross-Origin-Resource-Policy': 'same-origin',
        'Cache-Control': 'private, max-age=3600',
      });
    });
}

function* inEnvelope(document: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield Buffer.from('{"data":');
  yield* document;
  yield Buffer.from('}');
}
