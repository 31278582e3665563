import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Onboarding, OnboardingRequest } from '#services/onboarding/contract.ts';
import { ApiProblem } from '#web/api/api.ts';
import { createSaver } from '#web/features/onboarding/saver.ts';
import { onboardingOf } from './story.ts';

/** A server that keeps one version, as another tab may also change it. */
function serve() {
  let stored = onboardingOf();
  const sent: OnboardingRequest[] = [];
  const problem = (code: string, status: number) =>
    new ApiProblem({ status, code, message: 'Refused' });
  const server = {
    sent,
    isDown: false,
    /** It stores, and the reply does not arrive. */
    losesReply: false,
    /** Another user has signed in. */
    isLeft: false,
    replies: 0,
    stored: () => stored,
    /** What another tab saves. */
    change: (change: Partial<Onboarding>) => {
      stored = onboardingOf({ ...stored, ...change, version: stored.version + 1 });
    },
  };
  const saver = createSaver(stored, {
    put: async ({ version, ...answers }) => {
      sent.push({ version, ...answers });
      await Promise.resolve();
      if (server.isDown) throw problem('network', 0);
      if (version !== stored.version) throw problem('onboarding-changed', 409);
      server.change(answers as Partial<Onboarding>);
      if (server.losesReply) throw problem('network', 0);
      return stored;
    },
    read: async () => Promise.resolve(stored),
    onReply: () => {
      server.replies += 1;
    },
    isOwn: () => !server.isLeft,
  });
  return { server, saver };
}

describe('the saver of the onboarding', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('several changes are sent together after a pause, with the version that was read', async () => {
    const { server, saver } = serve();
    saver.change({ selectedChallenge: 'market-expansion' });
    saver.change({ selectedChallenge: 'premium-positioning' });
    expect(server.sent).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(
      server.sent.map(({ version, selectedChallenge }) => [version, selectedChallenge]),
    ).toEqual([[0, 'premium-positioning']]);
    expect(saver.state().save).toEqual({ status: 'saved' });
  });

  test('a change during a call is sent after it, with the version of its reply', async () => {
    const { server, saver } = serve();
    saver.change({ currentStage: 2 });
    const saved = saver.flush();
    saver.change({ currentStage: 3 });
    expect(await saved).toBe(true);
    expect(server.sent.map(({ version, currentStage }) => [version, currentStage])).toEqual([
      [0, 2],
      [1, 3],
    ]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(server.sent).toHaveLength(2);
  });

  test('nothing is sent while nothing changed', async () => {
    const { server, saver } = serve();
    expect(await saver.flush()).toBe(true);
    expect(server.sent).toEqual([]);
  });

  test('a lost connection keeps the answers, and the next attempt sends them', async () => {
    const { server, saver } = serve();
    server.isDown = true;
    saver.change({ currentStage: 2 });
    expect(await saver.flush()).toBe(false);
    expect(saver.state()).toMatchObject({
      save: { status: 'failed' },
      answers: { currentStage: 2 },
    });
    server.isDown = false;
    expect(await saver.flush()).toBe(true);
    expect(server.stored().currentStage).toBe(2);
  });

  test('answers of another tab stay until the person keeps their own', async () => {
    const { server, saver } = serve();
    server.change({ selectedChallenge: 'market-expansion' });
    saver.change({ selectedChallenge: 'premium-positioning' });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(saver.state().save.status).toBe('conflict');
    saver.change({ currentStage: 2 });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(server.stored().selectedChallenge).toBe('market-expansion');
    await saver.keepOwn();
    expect(server.stored()).toMatchObject({
      selectedChallenge: 'premium-positioning',
      currentStage: 2,
    });
    expect(saver.state().save.status).toBe('saved');
  });

  test('answers of another tab replace those on screen when the person takes them', async () => {
    const { server, saver } = serve();
    server.change({ selectedChallenge: 'market-expansion' });
    saver.change({ selectedChallenge: 'premium-positioning' });
    await vi.advanceTimersByTimeAsync(1_000);
    await saver.takeStored();
    expect(saver.state()).toMatchObject({
      answers: { selectedChallenge: 'market-expansion' },
      save: { status: 'saved' },
    });
    saver.change({ currentStage: 2 });
    expect(await saver.flush()).toBe(true);
  });

  test('nothing is sent for a user who has left, not even what a slow call kept waiting', async () => {
    const { server, saver } = serve();
    saver.change({ currentStage: 2 });
    const saved = saver.flush();
    saver.change({ currentStage: 3 });
    server.isLeft = true;
    expect(await saved).toBe(false);
    saver.change({ currentStage: 4 });
    expect(await saver.flush()).toBe(false);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(server.sent).toHaveLength(1);
    expect(server.replies).toBe(0);
  });

  test('a reply of another call does not hide that another tab has saved', async () => {
    const { server, saver } = serve();
    server.change({ selectedChallenge: 'market-expansion' });
    saver.take({ ...server.stored(), creditsActivated: true });
    expect(saver.state().stored.creditsActivated).toBe(true);
    saver.change({ currentStage: 2 });
    expect(await saver.flush()).toBe(false);
    expect(saver.state().save.status).toBe('conflict');
    expect(server.stored().selectedChallenge).toBe('market-expansion');
  });

  test('answers edited back to the last saved ones are not called saved while the server has others', async () => {
    const { server, saver } = serve();
    server.change({ currentStage: 4 });
    saver.change({ currentStage: 2 });
    await saver.flush();
    saver.change({ currentStage: 1 });
    expect(await saver.flush()).toBe(false);
    expect(saver.state().save.status).toBe('conflict');
    await saver.keepOwn();
    expect(saver.state().save.status).toBe('saved');
    expect(server.stored().currentStage).toBe(1);
  });

  test('a change after a lost reply is no conflict with oneself', async () => {
    const { server, saver } = serve();
    server.losesReply = true;
    saver.change({ currentStage: 2 });
    expect(await saver.flush()).toBe(false);
    server.losesReply = false;
    server.isDown = true;
    saver.change({ currentStage: 3 });
    expect(await saver.flush()).toBe(false);
    server.isDown = false;
    saver.change({ currentStage: 1 });
    expect(await saver.flush()).toBe(true);
    expect(server.stored().currentStage).toBe(1);
  });
});
