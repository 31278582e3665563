import { describe, expect, test } from 'vitest';
import { seat } from '#services/models/seating.ts';
import type { Seating } from '#services/models/seating.ts';
import { cardSentence, independenceSentence } from '#services/models/seating/words.ts';
import { bounds, catalogue, offersOf, settings, vendors } from './offers.ts';
import type { Connected } from './offers.ts';

/** Every strategy with everything that a person may have connected, as a table to read. */

type Row = {
  has: Connected;
  strategy: string;
  credits: number;
  local: Seating;
  production: Seating;
};

const subsets: Connected[] = [0, 1, 2, 7].flatMap((ollama) =>
  Array.from({ length: 2 ** 6 }, (_, bits) => ({
    vendors: vendors.filter((_vendor, index) => (bits & (1 << index)) !== 0),
    openrouter: (bits & 16) !== 0,
    endpoint: (bits & 32) !== 0,
    ollama,
  })),
);

const rows: Row[] = catalogue.strategies.flatMap((strategy) =>
  subsets.map((has) => {
    const offers = offersOf(has);
    const seated = (mode: keyof typeof bounds) =>
      seat(strategy, offers, catalogue.modelOf, { ...settings, lifted: bounds[mode] });
    const { id, credits } = strategy;
    return { has, strategy: id, credits, local: seated('local'), production: seated('production') };
  }),
);

const letters = ({ vendors: keys, openrouter, endpoint, ollama }: Connected) =>
  keys.map((key) => key.slice(0, 1).toUpperCase()).join('') +
    (openrouter ? 'R' : '') +
    (endpoint ? 'E' : '') +
    (ollama > 0 ? `L${ollama}` : '') || 'nothing';

type Model = Seating['extractors'][number];
const ids = (models: readonly Model[]) => models.map(({ offer }) => offer.model).join(' ');

/** By role; `*` another model than wanted, `-` one of a lower tier. */
function panelOf({ seats, substitutions, lowered }: Seating): string {
  const mark = (code: string) =>
    lowered.includes(code) ? '-' : substitutions.some(({ seat: one }) => one === code) ? '*' : '';
  const byRole = Map.groupBy(seats, ({ role }) => role);
  return [...byRole.values()]
    .map((held) => held.map((one) => `${one.offer.model}${mark(one.seat)}`).join(' '))
    .join(' / ');
}

/** What is left, after the models, of the price at the cheapest package. */
function marginOf({ estimate }: Seating, credits: number): string {
  if (estimate === null) return '';
  return `${Math.floor((1 - estimate / (credits * settings.packagePrice * 1e6)) * 100)} %`;
}

function line({ local, production, credits }: Row): string {
  if (local.seats.length === 0) return local.unavailable?.reason ?? '';
  const { extractors, synthesizers, verifiers, independence } = local;
  return [
    panelOf(local),
    `claims ${ids(extractors)}; write ${ids(synthesizers)}; verify ${verifiers.map(ids).join(' / ')}`,
    `makers ${local.makers}, copies ${local.copies.length}, lowered ${local.lowered.length}, families ${local.minFamilies}, reviews ${local.reviewsPerSeat}, rules broken ${independence.length}`,
    local.verdict,
    local.estimate === null ? 'price unknown' : `$${(local.estimate / 1e6).toFixed(3)}`,
    marginOf(local, credits),
    production.unavailable?.reason ?? 'in production too',
    [cardSentence(local), independenceSentence(local)].filter((one) => one !== null).join(' + '),
  ].join(' | ');
}

function table(): string {
  const sections = catalogue.strategies.map(({ id, credits }) => {
    const own = rows.filter(({ strategy }) => strategy === id);
    const lines = [...Map.groupBy(own, line)].map(
      ([text, alike]) => `${alike.map(({ has }) => letters(has)).join(' ')} | ${text}`,
    );
    return `## ${id}, ${credits} credits for $${(credits * settings.packagePrice).toFixed(2)}\n\n${lines.join('\n')}\n`;
  });
  return `${head}\n${sections.join('\n')}`;
}

const head = `Who sits where with what is connected; rows that read alike stand on one line.
O OpenAI, A Anthropic, G Google, M Mistral, R OpenRouter, E an endpoint with one model of unknown price, L1 L2 L7 local models.
In a panel: * another model than wanted, - one of a lower tier.
Connected | strategic / risk / implementation | other roles | figures | verdict | estimate | margin | production | card
`;

describe('the seating table', () => {
  test('the seating table reads as reviewed', async () => {
    await expect(table()).toMatchFileSnapshot('./seating-table.txt');
  });

  test('the seating table has one OpenRouter key seat all eight strategies as designed, in both modes', () => {
    const withRouter = rows.filter(({ has }) => has.openrouter);
    expect(new Set(withRouter.map(({ strategy }) => strategy)).size).toBe(8);
    for (const { local, production } of withRouter)
      for (const seating of [local, production])
        expect(seating).toMatchObject({
          substitutions: [],
          copies: [],
          lowered: [],
          independence: [],
          unavailable: null,
        });
  });

  test.each(['ultra-economy', 'fast', 'economy', 'balanced'])(
    'the seating table offers %s in local mode with one key of a vendor, or one local model',
    (strategy) => {
      const alone = rows.filter(
        ({ has, strategy: own }) =>
          own === strategy &&
          !has.openrouter &&
          !has.endpoint &&
          has.vendors.length + has.ollama === 1,
      );
      expect(alone.map(({ has }) => letters(has))).toEqual(['O', 'A', 'G', 'M', 'L1']);
      for (const { local } of alone) {
        expect(local.unavailable).toBeNull();
        expect(local.seats).toHaveLength(7);
      }
    },
  );

  test('the seating table offers a strategy in production exactly within both bounds', () => {
    const verdicts = rows.map(({ strategy, production: { unavailable, ...seating } }) => {
      const { credits } = catalogue.strategyOf(strategy)!;
      const within =
        seating.seats.length > 0 &&
        seating.lowered.length <= 2 &&
        seating.estimate !== null &&
        seating.estimate <= (credits * settings.packagePrice * 1e6) / 2;
      return { within, offered: unavailable === null };
    });
    expect(verdicts.filter(({ within, offered }) => within !== offered)).toEqual([]);
    expect(new Set(verdicts.map(({ offered }) => offered)).size).toBe(2);
  });

  test('the seating table names a model of unknown price in production only where nothing else is connected', () => {
    const unpriced = rows.filter(({ production }) =>
      production.unavailable?.reason.includes('The price of moonlight-2 is not known.'),
    );
    expect(new Set(unpriced.map(({ has }) => letters(has)))).toEqual(new Set(['E']));
  });
});
