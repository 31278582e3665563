import { afterAll, beforeAll, vi } from 'vitest';

/** The limit of one repair, in milliseconds. */
export const repairLimitMs = 1000;

/** In this file a repair takes as long as it needs, so that a busy machine makes no difference. */
export function withoutRepairLimit(): void {
  const never = new AbortController().signal;
  const timeoutOf = AbortSignal.timeout.bind(AbortSignal);
  let restore = (): void => undefined;
  beforeAll(() => {
    const spied = vi
      .spyOn(AbortSignal, 'timeout')
      .mockImplementation((ms) => (ms === repairLimitMs ? never : timeoutOf(ms)));
    restore = () => spied.mockRestore();
  });
  afterAll(() => restore());
}
