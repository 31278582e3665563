import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createFileRoute, Navigate } from '@tanstack/react-router';
import { type ComponentType, type ReactNode, useEffect, useRef, useState } from 'react';
import { insufficientCreditsSentence } from '#services/credits/contract.ts';
import type { Onboarding } from '#services/onboarding/contract.ts';
import { balanceQuery } from '#web/features/credits/queries.ts';
import {
  beforeLogout,
  sessionUserId,
  useSession,
} from '#web/features/identity/sessions/session.ts';
import {
  activateBonus,
  completeOnboarding,
  onboardingQuery,
  putOnboarding,
} from '#web/features/onboarding/calls.ts';
import { sendUnsaved } from '#web/features/onboarding/save-notice.tsx';
import { createSaver, type Saver } from '#web/features/onboarding/saver.ts';
import { Audit } from '#web/features/onboarding/audit/audit-page.tsx';
import { Wizard } from '#web/features/onboarding/wizard.tsx';
import { refusalSentence } from '#web/features/optimize/insufficient.tsx';
import { processRun, startCalls, strategiesQuery } from '#web/features/optimize/queries.ts';
import { newAttempt, type Started, startRun } from '#web/features/optimize/start.ts';
import { accountQuery } from '#web/api/account.ts';
import { runsKey } from '#web/features/runs/queries.ts';
import { problemSentence } from '#web/api/problem-words.ts';
import { QueryBlock } from '#web/api/query-block.tsx';
import { productName, windowTitle } from '#web/app/product.ts';
import { reloadRun } from '#web/live/live.ts';
import { counted, creditsInWords } from '#services/platform/numbers.ts';
import { Skeleton } from '#web/ui/feedback/skeleton.tsx';
import { useWindowTitle } from '#web/ui/use-window-title.ts';
import { showToast } from '#web/ui/feedback/toasts.tsx';

/** Both pages are one route: the router's list of routes is part of every first load. */
export const Route = createFileRoute('/_signed-in/onboarding/$view')({
  component: Page,
  staticData: { title: 'Onboarding' },
});

function Page(): ReactNode {
  const { view } = Route.useParams();
  if (view === 'singularity')
    return (
      <Frame title="Singularity onboarding" what="onboarding" Content={Begun}>
        <p className="max-w-prose text-ink-2">
          Four short steps: what work between AI tools costs you, one challenge, a demonstration,
          and your own question. You can skip any step and come back on any device.
        </p>
      </Frame>
    );
  if (view === 'audit') return <Frame title="My audit" what="audit" Content={Stored} />;
  return <Navigate to="/onboarding/$view" params={{ view: 'singularity' }} replace />;
}

type ContentProps = { userId: string; initial: Onboarding };

/** A page of the stored answers. */
function Frame({
  title,
  what,
  Content,
  children,
}: {
  title: string;
  what: string;
  Content: ComponentType<ContentProps>;
  children?: ReactNode;
}): ReactNode {
  const session = useSession();
  useWindowTitle(windowTitle(title));
  const onboarding = useQuery(onboardingQuery);
  // An answer of an earlier visit may be older than another device's.
  const answer = onboarding.isFetchedAfterMount ? onboarding : { ...onboarding, data: undefined };
  if (!('user' in session)) return null;
  return (
    <div className="mx-auto max-w-page space-y-6 px-4 pt-8 sm:px-6">
      <div className="space-y-3">
        <h1 className="text-4xl">{title}</h1>
        {children}
      </div>
      <QueryBlock
        answer={answer}
        label={`Loading your ${what}`}
        failure={`We couldn't load your ${what}`}
        safe="Your answers are safe."
        skeleton={<Skeleton className="h-96" />}
      >
        {(data) => <Content key={session.user.id} userId={session.user.id} initial={data} />}
      </QueryBlock>
    </div>
  );
}

function Begun({ userId, initial }: ContentProps): ReactNode {
  const cache = useQueryClient();
  const navigate = Route.useNavigate();
  const balance = useQuery(balanceQuery);
  const strategies = useQuery(strategiesQuery());
  const saver = useSaverOf(userId, initial);
  const attempt = useRef({ question: '', keys: newAttempt(null) });
  // Completed elsewhere: completing it here leaves by `onComplete`, whose reply is not kept.
  if (initial.completedAt !== null) return <Navigate to="/dashboard" replace />;

  const available = (strategies.data ?? []).filter((one) => one.available);
  const [cheapest = null] = available.toSorted((one, other) => one.credits - other.credits);

  const refreshRuns = (): void => {
    void cache.invalidateQueries({ queryKey: runsKey });
    void cache.invalidateQueries({ queryKey: balanceQuery.queryKey });
  };
  return (
    <Wizard
      saver={saver}
      strategy={cheapest}
      credits={balance.data?.available_credits ?? null}
      activateBonus={activateBonus}
      startRun={async ({ request, price, onCreated }) => {
        // A second press, or one after a lost reply, reaches the first run.
        const question = JSON.stringify(request);
        if (attempt.current.question !== question)
          attempt.current = { question, keys: newAttempt(null) };
        let started: Started;
        try {
          started = await startRun(
            { request, price, attempt: attempt.current.keys },
            onCreated,
            startCalls,
          );
        } finally {
          // It may have been created and not started.
          refreshRuns();
        }
        if (started.kind === 'price-changed') void strategies.refetch();
        return { refusal: refusalOf(started) };
      }}
      resumeRun={async (runId) => {
        try {
          await processRun(runId, crypto.randomUUID());
          await reloadRun(runId);
        } catch (error) {
          showToast('error', 'Failed to start optimization', { message: problemSentence(error) });
        }
        refreshRuns();
      }}
      onComplete={async () => {
        // A bonus that paid for a real run was granted before.
        const isNew = !saver.state().stored.creditsActivated;
        const completed = await completeOnboarding();
        const { bonus, creditsActivated, selectedChallenge } = completed;
        void cache.invalidateQueries({ queryKey: accountQuery.queryKey });
        void cache.invalidateQueries({ queryKey: balanceQuery.queryKey });
        showToast('success', `Welcome to ${productName}`, {
          message: [
            ...(creditsActivated && isNew
              ? [`We added ${counted(bonus.credits, 'bonus credit')} to your balance.`]
              : []),
            ...(bonus.state === 'needs-confirmed-email'
              ? ['Confirm your email address to get your bonus credits.']
              : []),
            selectedChallenge === null
              ? 'Ask your first question here.'
              : 'Your question is filled in. Add your facts, then choose a strategy.',
          ].join(' '),
        });
        await navigate({
          to: '/optimization',
          search: selectedChallenge === null ? {} : { challenge: selectedChallenge },
        });
      }}
      onLeave={() => void navigate({ to: '/dashboard' })}
    />
  );
}

/** Why a start was refused, for people; null when the run has started. */
function refusalOf(started: Started): string | null {
  switch (started.kind) {
    case 'started':
      return null;
    case 'insufficient':
      return started.shortfall > 0
        ? insufficientCreditsSentence(started)
        : refusalSentence({ ...started, frozen: false });
    case 'price-changed':
      return `The price is now ${creditsInWords(started.price)}. Start again to accept it.`;
  }
}

/** The saver of a page. A logout waits for what it has not sent. */
function useSaverOf(userId: string, initial: Onboarding): Saver {
  const cache = useQueryClient();
  const [saver] = useState(() =>
    createSaver(initial, {
      put: putOnboarding,
      read: async () => cache.fetchQuery(onboardingQuery),
      onReply: (reply) => cache.setQueryData(onboardingQuery.queryKey, reply),
      isOwn: () => sessionUserId() === userId,
    }),
  );
  useEffect(() => beforeLogout(() => sendUnsaved(saver)), [saver]);
  return saver;
}

// --- after it ---

function Stored({ userId, initial }: ContentProps): ReactNode {
  const cache = useQueryClient();
  const [edition, setEdition] = useState(0);
  const [isActivating, setActivating] = useState(false);
  const saver = useSaverOf(userId, initial);
  const activate = async (): Promise<void> => {
    setActivating(true);
    try {
      saver.take(await activateBonus());
      void cache.invalidateQueries({ queryKey: balanceQuery.queryKey });
    } catch (error) {
      showToast('error', "We couldn't activate your bonus", { message: problemSentence(error) });
    } finally {
      setActivating(false);
    }
  };
  return (
    <Audit
      saver={saver}
      formKey={edition}
      onReplaced={() => setEdition((last) => last + 1)}
      isActivating={isActivating}
      onActivate={() => void activate()}
    />
  );
}
