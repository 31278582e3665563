import { queryOptions } from '@tanstack/react-query';
import * as v from 'valibot';
import {
  RevokedReply,
  Share,
  SharedReply,
  type ShareRequest,
} from '#services/optimizations/contract/sharing.ts';
import { read, unlessGone, write } from '#web/api/api.ts';

/** The live links of a result, newest first. */
export function sharesQuery(runId: string) {
  return queryOptions({
    queryKey: ['shares', runId],
    queryFn: ({ signal }) => read(pathOf(runId), v.array(Share), { signal }),
  });
}

/** The same `key` reaches the same link. */
export function makeShare(runId: string, request: ShareRequest, key: string): Promise<Share> {
  return write('POST', pathOf(runId), request, Share, { key });
}

export async function revokeShare(runId: string, id: string): Promise<void> {
  await unlessGone(write('DELETE', `${pathOf(runId)}/${encodeURIComponent(id)}`, {}, RevokedReply));
}

/** What a share link leads to. */
export function sharedQuery(token: string) {
  return queryOptions({
    queryKey: ['shared', token],
    queryFn: ({ signal }) => read(`/shared/${encodeURIComponent(token)}`, SharedReply, { signal }),
  });
}

function pathOf(runId: string) {
  return `/optimizations/${encodeURIComponent(runId)}/shares` as const;
}
