import type {
  Onboarding,
  OnboardingAnswers,
  OnboardingRequest,
} from '#services/onboarding/contract.ts';
import { ApiProblem } from '#web/api/api.ts';
import { createSignal } from '#web/ui/signal.ts';

/**
 * The answers on screen and on the server. A change is sent after a pause, one call at a time, with the
 * version of the last reply, so that another tab's answers are never overwritten unseen.
 */
export type SaverState = {
  readonly answers: OnboardingAnswers;
  /** As the server last answered. */
  readonly stored: Onboarding;
  readonly save:
    | { readonly status: 'saved' | 'saving' }
    /** Another tab or device has saved. */
    | { readonly status: 'conflict' }
    | { readonly status: 'failed'; readonly error: unknown };
};

export type Saver = {
  state: () => SaverState;
  subscribe: (listener: () => void) => () => void;
  change: (part: Partial<OnboardingAnswers>) => void;
  /** Sends what is unsaved now; true once the server has everything. */
  flush: () => Promise<boolean>;
  /** Takes a reply of another call, such as the one that activates the bonus. */
  take: (reply: Onboarding) => void;
  /** Ends a conflict with what the server has. */
  takeStored: () => Promise<void>;
  /** Ends a conflict with what is on screen. */
  keepOwn: () => Promise<void>;
};

const pauseMs = 800;

export function createSaver(
  initial: Onboarding,
  calls: {
    put: (request: OnboardingRequest) => Promise<Onboarding>;
    read: () => Promise<Onboarding>;
    /** Every reply, for the cache of the page. */
    onReply: (reply: Onboarding) => void;
  },
): Saver {
  let state: SaverState = {
    answers: answersOf(initial),
    stored: initial,
    save: { status: 'saved' },
  };
  let saved = JSON.stringify(state.answers);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<boolean> | null = null;
  const changes = createSignal();

  const publish = (next: Partial<SaverState>): void => {
    state = { ...state, ...next };
    changes.emit();
  };

  const accept = (reply: Onboarding): void => {
    calls.onReply(reply);
    publish({ stored: reply });
  };

  const send = async (): Promise<boolean> => {
    while (JSON.stringify(state.answers) !== saved) {
      const { answers, stored } = state;
      try {
        accept(await calls.put({ version: stored.version, ...answers }));
        saved = JSON.stringify(answers);
      } catch (error) {
        const isConflict = error instanceof ApiProblem && error.code === 'onboarding-changed';
        publish({ save: isConflict ? { status: 'conflict' } : { status: 'failed', error } });
        return false;
      }
    }
    publish({ save: { status: 'saved' } });
    return true;
  };

  const flush = async (): Promise<boolean> => {
    clearTimeout(timer);
    running ??= send().finally(() => {
      running = null;
    });
    return running;
  };

  /** Null when there was no reply; the next attempt to save finds the conflict again. */
  const readAgain = async (): Promise<Onboarding | null> => {
    try {
      const reply = await calls.read();
      accept(reply);
      return reply;
    } catch (error) {
      publish({ save: { status: 'failed', error } });
      return null;
    }
  };

  return {
    state: () => state,
    subscribe: changes.subscribe,
    change(part) {
      publish({
        answers: { ...state.answers, ...part },
        // A conflict stays until the person decides.
        ...(state.save.status === 'conflict' ? {} : { save: { status: 'saving' } }),
      });
      clearTimeout(timer);
      if (state.save.status !== 'conflict') timer = setTimeout(() => void flush(), pauseMs);
    },
    flush,
    take: accept,
    async takeStored() {
      const reply = await readAgain();
      if (reply === null) return;
      const answers = answersOf(reply);
      saved = JSON.stringify(answers);
      publish({ answers, save: { status: 'saved' } });
    },
    async keepOwn() {
      if ((await readAgain()) === null) return;
      publish({ save: { status: 'saving' } });
      await flush();
    },
  };
}

/** What `PUT` takes of what `GET` answers. */
function answersOf(onboarding: Onboarding): OnboardingAnswers {
  const { currentStage, auditData, selectedChallenge, demonstration, question } = onboarding;
  return {
    currentStage,
    auditData,
    selectedChallenge,
    demonstration:
      demonstration?.kind === 'run' ? { kind: 'run', run_id: demonstration.run_id } : demonstration,
    question,
  };
}
