export type Signal<Detail extends readonly unknown[]> = {
  /** Calls back at each `emit`, until the returned function is called. */
  subscribe: (listener: (...detail: Detail) => void) => () => void;
  emit: (...detail: Detail) => void;
};

/** Those who follow something that changes outside of React. */
export function createSignal<Detail extends readonly unknown[] = []>(): Signal<Detail> {
  const listeners = new Set<(...detail: Detail) => void>();
  return {
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    emit(...detail) {
      for (const listener of listeners) listener(...detail);
    },
  };
}
