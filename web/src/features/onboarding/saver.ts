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
    /** Whether these answers are still those of the user whom calls are sent for. */
    isOwn: () => boolean;
  },
): Saver {
  let state: SaverState = {
    answers: answersOf(initial),
    stored: initial,
    save: { status: 'saved' },
  };
  /** What the server has of them; null while that is uncertain. */
  let saved: string | null = JSON.stringify(state.answers);
  /** Bodies sent since the last reply to one: any of them may have been stored. */
  const unanswered = new Set<string>();
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
    while (calls.isOwn()) {
      const { answers, stored } = state;
      const text = JSON.stringify(answers);
      if (text === saved) {
        publish({ save: { status: 'saved' } });
        return true;
      }
      unanswered.add(text);
      try {
        const reply = await calls.put({ version: stored.version, ...answers });
        if (!calls.isOwn()) break;
        accept(reply);
        saved = text;
        unanswered.clear();
      } catch (error) {
        saved = null;
        if (!calls.isOwn()) break;
        const isConflict = error instanceof ApiProblem && error.code === 'onboarding-changed';
        if (isConflict && (await isOnlyOurs())) continue;
        publish({ save: isConflict ? { status: 'conflict' } : { status: 'failed', error } });
        break;
      }
    }
    return false;
  };

  /** After a conflict: takes the version if only this page's answers are behind it, after a lost reply. */
  const isOnlyOurs = async (): Promise<boolean> => {
    try {
      const reply = await calls.read();
      const text = textOf(reply);
      if (!calls.isOwn() || reply.version === state.stored.version) return false;
      if (!unanswered.has(text) && text !== textOf(state.stored)) return false;
      accept(reply);
      saved = text;
      return true;
    } catch (error) {
      console.warn('The answers of a conflict could not be read', error);
      return false;
    }
  };

  const flush = async (): Promise<boolean> => {
    clearTimeout(timer);
    // A conflict stays until the person decides.
    if (state.save.status === 'conflict') return false;
    running ??= send().finally(() => {
      running = null;
    });
    return running;
  };

  /** Null without a reply for this user; the next attempt to save finds the conflict again. */
  const readAgain = async (): Promise<Onboarding | null> => {
    try {
      const reply = await calls.read();
      if (!calls.isOwn()) return null;
      accept(reply);
      saved = textOf(reply);
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
        ...(state.save.status === 'conflict' ? {} : { save: { status: 'saving' } }),
      });
      clearTimeout(timer);
      if (state.save.status !== 'conflict') timer = setTimeout(() => void flush(), pauseMs);
    },
    flush,
    take(reply) {
      if (!calls.isOwn()) return;
      if (textOf(reply) === textOf(state.stored)) return accept(reply);
      // Another tab's answers are not on screen, so the next save must meet its conflict.
      calls.onReply(reply);
      const { bonus, creditsActivated, completedAt } = reply;
      publish({ stored: { ...state.stored, bonus, creditsActivated, completedAt } });
    },
    async takeStored() {
      const reply = await readAgain();
      if (reply === null) return;
      publish({ answers: answersOf(reply), save: { status: 'saved' } });
    },
    async keepOwn() {
      if ((await readAgain()) === null) return;
      publish({ save: { status: 'saving' } });
      await flush();
    },
  };
}

function textOf(onboarding: Onboarding): string {
  return JSON.stringify(answersOf(onboarding));
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
