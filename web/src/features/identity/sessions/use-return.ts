import { useNavigate, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { safeReturnPath } from './return-path.ts';
import { useSession } from './session.ts';

/** Leaves a sign-in page once the user is signed in, for the page they came from. */
export function useReturn(redirect: string | undefined): void {
  const session = useSession();
  const router = useRouter();
  useEffect(() => {
    if (session.status !== 'authenticated') return;
    router.history.replace(safeReturnPath(redirect, location.origin));
  }, [session.status, redirect, router]);
}

/** Leaves a signed-in page when the user signs out, here or in another tab. */
export function useLeaveWhenSignedOut(): void {
  const session = useSession();
  const navigate = useNavigate();
  useEffect(() => {
    if (session.status === 'anonymous') void navigate({ to: '/login', replace: true });
  }, [session.status, navigate]);
}
