import { describe, expect, test } from 'vitest';
import { guardedCall, replyCharacters } from '#services/models/transport/guarded-call.ts';
import { unknownUsage } from '#services/models/model.ts';
import type { ModelPart } from '#services/models/model.ts';
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
