import { useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { safeReturnPath } from './return-path.ts';
import { useSession } from './session.ts';

/** Leaves a sign-in page for the page a person came from, once, or when already, signed in. */
export function useReturn(redirect: string | undefined): void {
  const session = useSession();
  const router = useRouter();
  useEffect(() => {
    if (session.status !== 'authenticated') return;
    router.history.replace(safeReturnPath(redirect, location.origin));
  }, [session.status, redirect, router]);
}

/** Leaves a page of the signed-in area when the person signs out, here or in another tab. */
export function useLeaveWhenSignedOut(): void {
  const session = useSession();
  const navigate = useNavigate();
  useEffect(() => {
    if (session.status === 'anonymous') void navigate({ to: '/login', replace: true });
  }, [session.status, navigate]);
}
