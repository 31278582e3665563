import { createHash } from 'node:crypto';
import type { LiveTextWriter } from '#services/live/live-text.ts';
import type { OpenCalls } from '#services/optimizations/open-calls.ts';
import type { Slot } from '#services/optimizations/run/events.ts';
import { owedSlots } from '#services/optimizations/run/owed.ts';
import type { RunState } from '#services/optimizations/run/state.ts';
import type { Sealer } from '#services/platform/seal.ts';

/** What a run asks of its surroundings, without a database. */

type OwnCalls = Omit<OpenCalls, 'stopUnwanted'> & {
  /** A call whose stage has closed is stopped, as a worker would. */
  stopUnwanted(state: RunState): void;
};

export function openCallsOf(signal: AbortSignal): OpenCalls & OwnCalls {
  const open = new Map<AbortController, Slot>();
  return {
    async during({ slot }, work) {
      const controller = new AbortController();
      open.set(controller, slot);
      try {
        return await work(AbortSignal.any([controller.signal, signal]));
      } finally {
        open.delete(controller);
      }
    },
    stopUnwanted(state) {
      const owed = 'stage' in state ? owedSlots(state) : [];
      for (const [controller, slot] of open) if (!owed.includes(slot)) controller.abort();
      return Promise.resolve();
    },
    stopAll() {
      for (const controller of open.keys()) controller.abort();
    },
    get stopping() {
      return signal.aborted;
    },
  };
}

export function notingText(written: Map<string, number>, clock: () => number): LiveTextWriter {
  return {
    begin: ({ slot }) => ({
      push: () => void written.set(slot, clock()),
      end: () => void written.delete(slot),
    }),
    close: async () => undefined,
  };
}

/** There is no user whose text would have to be erased. */
export const inClear: Sealer = {
  createDataKey: async (_kind, ownerId) => ownerId,
  seal: async (_keyId, _context, text) => text,
  open: async (sealed) => ({ text: sealed }),
  mac: async (_keyId, text) => createHash('sha256').update(text).digest('hex'),
  macKey: async () => null,
  eraseKey: async () => undefined,
  erasePerson: async () => undefined,
  checkKeys: async () => ({ keys: 0, closed: 0 }),
  rewrapKeys: async () => 0,
};
