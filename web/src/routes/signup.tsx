import { createFileRoute, Link, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import * as v from 'valibot';
import { SignupForm } from '#web/features/identity/signup-form.tsx';
import { useReturn } from '#web/features/identity/sessions/use-return.ts';
import { Card } from '#web/ui/card.tsx';
import { useHydrated } from '#web/ui/hydrated.ts';
import { showToast } from '#web/ui/feedback/toasts.tsx';
import { productName } from '#web/app/product.ts';

// Only for users who chose one, to keep the first load small.
const WantedPackage = lazy(async () => ({
  default: (await import('#web/features/home/wanted-package.tsx')).WantedPackage,
}));

export const Route = createFileRoute('/signup')({
  component: SignupPage,
  validateSearch: v.object({ redirect: v.optional(v.fallback(v.string(), '')) }),
  staticData: {
    title: 'Sign up',
    description: 'Create an account. No card needed.',
    prerender: true,
  },
});

function SignupPage(): ReactNode {
  const { redirect } = Route.useSearch();
  const hydrated = useHydrated();
  const navigate = useNavigate();
  const wanted = hydrated ? redirect?.split('/credits/purchase?package=')[1] : undefined;
  useReturn(redirect);
  const openConfirmation = (): void => {
    showToast('success', `Welcome to ${productName}`, {
      message: 'Open the link we emailed you, and your account is ready.',
    });
    void navigate({ to: '/auth/verify-email', search: redirect ? { redirect } : {} });
  };
  return (
    <div className="mx-auto grid grid-cols-1 w-full max-w-page gap-x-12 gap-y-8 px-4 pt-8 sm:px-6 lg:grid-cols-12 lg:pt-16">
      <div className="space-y-6 lg:col-span-7">
        <h1 className="text-4xl">Create your account</h1>
        {wanted ? (
          <p className="text-ink-2">We'll hold your package until you confirm your email.</p>
        ) : null}
        <Card>
          <SignupForm
            returnTo={redirect}
            offer={wanted ? '' : ' - $5'}
            onConfirmationNeeded={openConfirmation}
          />
        </Card>
        <p className="text-ink-2">
          Already have an account?{' '}
          <Link to="/login" search={hydrated && redirect ? { redirect } : {}} className="link">
            Login
          </Link>
        </p>
      </div>
      <Benefits wanted={wanted} />
    </div>
  );
}

function Benefits({ wanted }: { wanted: string | undefined }): ReactNode {
  const cheapest = (
    <h2 id="benefits" className="text-2xl">
      $5 buys 10 credits for 2-3 opportunities
    </h2>
  );
  return (
    <aside aria-labelledby="benefits" className="lg:col-span-5 lg:pt-18">
      <div className="space-y-4 rounded-card border border-line bg-sunken p-6">
        {wanted ? (
          <Suspense>
            <WantedPackage id={wanted} heading="benefits" otherwise={cheapest} />
          </Suspense>
        ) : (
          cheapest
        )}
        <ul className="list-disc space-y-2 ps-5 text-ink-2">
          <li>10 credits pay for two Fast runs and one Ultra Economy run.</li>
          <li>A Balanced run, our recommendation, costs 14.</li>
          <li>Signing up is free. You pay only when you buy, and only plans renew.</li>
          <li>Credits never expire, and a failed run returns half its price automatically.</li>
        </ul>
      </div>
    </aside>
  );
}
