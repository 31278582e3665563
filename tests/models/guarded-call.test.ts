import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { guardedCall, replyCharacters } from '#services/models/transport/guarded-call.ts';
import type { OpenCall } from '#services/models/transport/guarded-call.ts';
import { classOfStatus, failureOf } from '#services/models/transport/guarded-fetch.ts';
import { ModelFailure, unknownUsage } from '#services/models/model.ts';
import type { ModelPart } from '#services/models/model.ts';
import { localPatience, patienceWith } from '#services/models/transport/silence.ts';
import type { Patience } from '#services/models/transport/silence.ts';
import { requestTo } from './provider-cases.ts';

const request = requestTo('model');
const most = replyCharacters(request);

const replyOf = (text: string): ModelPart => ({
  type: 'reply',
  reply: {
    text,
    finish: 'stop',
    answeredBy: 'model',
    usage: unknownUsage,
    billedCost: null,
  },
});

async function textOf(parts: () => AsyncIterable<ModelPart>): Promise<string> {
  for await (const part of guardedCall('A provider', request, parts))
    if (part.type === 'reply') return part.reply.text;
  return '';
}

test.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])(
  'an error that names %s, which every object has, keeps the class of its status',
  (word) => {
    expect(classOfStatus(503, word)).toBe('unavailable');
    const error = Object.assign(new Error('broken'), { code: word, type: word, status: 429 });
    expect(failureOf('A provider', error).failure).toBe('rate_limited');
  },
);

describe('a call that is silent', () => {
  const replied = replyOf('Lease it.');
  const text: ModelPart = { type: 'text', text: 'Lease' };

  /** The end of a call that says nothing for so many milliseconds before and after its first text. */
  async function endOf(
    { before, after }: { before: number; after: number },
    patience: Patience,
    timeoutMs = 60_000,
  ): Promise<string> {
    async function* parts({ signal }: OpenCall): AsyncIterable<ModelPart> {
      await sleep(before, undefined, { signal });
      yield text;
      await sleep(after, undefined, { signal });
      yield replied;
    }
    try {
      const call = guardedCall('A provider', { ...request, timeoutMs }, parts, { patience, fetch });
      for await (const part of call) if (part.type === 'reply') return part.reply.text;
      return 'nothing';
    } catch (error) {
      return error instanceof ModelFailure ? error.failure : String(error);
    }
  }

  test.each([
    ['ends before its first text', { before: 200, after: 0 }, 'silent'],
    ['ends after its first text', { before: 0, after: 400 }, 'silent'],
    ['has another patience after its first text', { before: 0, after: 150 }, 'Lease it.'],
    ['is answered', { before: 20, after: 20 }, 'Lease it.'],
  ])('a call %s', async (_what, waits, end) => {
    expect(await endOf(waits, { firstTextMs: 80, laterMs: 250 })).toBe(end);
  });

  test('no silence lasts longer than half of what is left of the stage', async () => {
    const patience = { firstTextMs: 50_000, laterMs: 50_000 };
    expect(await endOf({ before: 5000, after: 0 }, patience, 200)).toBe('silent');
    expect(await endOf({ before: 0, after: 5000 }, patience, 200)).toBe('silent');
  });

  test.each([
    [null, 45_000],
    ['none', 45_000],
    ['medium', 45_000],
    ['high', 150_000],
    ['max', 150_000],
  ] as const)('a model at effort %s may say nothing for %i ms', (effort, firstTextMs) => {
    expect(patienceWith({ effort })).toEqual({ firstTextMs, laterMs: 45_000 });
  });

  test('a local model has a minute, and a second for each 50 tokens of the prompt', () => {
    const prompt = 'x'.repeat(4 * 16_000);
    expect(localPatience({ system: '', prompt })).toEqual({
      firstTextMs: 380_000,
      laterMs: 45_000,
    });
  });
});

describe('a reply far longer than what was allowed', () => {
  test('a reply far longer than allowed is given up while it streams, before it fills the memory', async () => {
    let sent = 0;
    async function* endless(): AsyncIterable<ModelPart> {
      for (;;) {
        sent += 1000;
        yield { type: 'text', text: 'x'.repeat(1000) };
      }
    }
    await expect(textOf(endless)).rejects.toMatchObject({ failure: 'malformed' });
    expect(sent).toBeLessThan(most + 2000);
  });

  test('a reply far longer than allowed is refused when it arrives in one piece', async () => {
    async function* whole(): AsyncIterable<ModelPart> {
      yield replyOf('x'.repeat(most + 1));
    }
    await expect(textOf(whole)).rejects.toMatchObject({ failure: 'malformed' });
  });

  test('a reply as long as its tokens allow is accepted', async () => {
    async function* longest(): AsyncIterable<ModelPart> {
      yield { type: 'text', text: 'x'.repeat(most) };
      yield replyOf('x'.repeat(most));
    }
    expect(await textOf(longest)).toHaveLength(most);
    expect(most).toBeGreaterThan(8 * request.maxOutputTokens);
  });
});
