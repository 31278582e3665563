import { describe, expect, it } from 'vitest';
import { finishedEmail, finishedRun } from '#services/optimizations/finished-email.ts';
import { claimsCsv } from '#services/optimizations/reading/claims-csv.ts';
import { summarize } from '#services/optimizations/reading/describe.ts';
import { runsCsv } from '#services/optimizations/reading/runs-csv.ts';
import { runMarkdown } from '#services/optimizations/reading/markdown/run-markdown.ts';
import { claimRows } from '#services/optimizations/reading/words/claims.ts';
import type { Optimization } from '#services/optimizations/contract/run.ts';
import type { ListedRun } from '#services/optimizations/contract/run.ts';
import { Findings } from '#web/features/result/completed.tsx';
import { runQuery } from '#web/features/runs/queries.ts';
import { RunList } from '#web/features/runs/run-list.tsx';
import { cancel, closed, closedWithout, started } from '#tests/optimizations/run/run-script.ts';
import { movedStory, refinedStory } from '#tests/web/support/refinement-stories.ts';
import { wordsOf } from '#tests/web/support/rendered.tsx';
import { resultStories } from '#tests/web/support/result-stories.ts';
import { storyOf } from '#tests/web/support/run-story.ts';

/** One run in every text that people get of it: the same status, votes, agreement and charge. */

const settled = (captured: number, refunded: number) =>
  ({ type: 'Close', captured, refunded, creditsVersion: 3 }) as const;

const stories = {
  ...resultStories,
  'one model missing': storyOf(closedWithout(['I2'], 'malformed', 2)),
  'included refinement': refinedStory,
  'refinement with changed votes': movedStory,
  'canceled, half returned': storyOf(started().given(cancel, settled(14, 7))),
  'canceled, all returned': storyOf(started().given(cancel, settled(0, 0))),
  'all charged': storyOf(closed()),
};

/** What a text says, each figure as it is written there; undefined where it says nothing of it. */
type Said = Partial<Record<'status' | 'votes' | 'agreement' | 'charge', string | undefined>>;

function listed(run: Optimization): ListedRun {
  return {
    ...summarize(run.council),
    refinements: 0,
    newest_outcome: null,
    running_refinement_id: null,
  };
}

const first = (text: string, pattern: RegExp): string | undefined => pattern.exec(text)?.[1];

/** A refinement quotes the heading before it, too. */
const votesIn = (text: string): string | undefined =>
  first(text.replace(/The result before: [^.]*/, ''), /Recommended by (\d+ of \d+) models/);

/** "14 0": charged and returned, from a sentence about both. */
function chargeIn(text: string): string | undefined {
  const part = /(\d+) of \d+ credits(?: were charged)?, (\d+) returned/.exec(text);
  if (part) return `${part[1]} ${part[2]}`;
  const all = first(text, /(\d+) credits were charged/);
  if (all !== undefined) return `${all} 0`;
  return /You weren't charged|nothing (?:was )?charged|included/.test(text) ? '0' : undefined;
}

const charged = (text: string, back: string): string =>
  text === '' || text === '0' ? '0' : `${text} ${back === '' ? '0' : back}`;

function ofPage(run: Optimization): Said | null {
  if (run.result === null) return null;
  const words = wordsOf(<Findings run={run} />, [[runQuery(run.id).queryKey, run]]);
  return {
    votes: votesIn(words),
    agreement: first(words, /Agreement (\d+) \w+ /),
    charge: chargeIn(words.slice(words.indexOf('Cost, time and tokens'))),
  };
}

function ofList(run: Optimization): Said {
  const words = wordsOf(<RunList runs={[listed(run)]} />);
  return {
    status: first(words, /(Completed|Canceled|Failed)/),
    votes: votesIn(words),
    agreement: first(words, /Agreement (\d+), /),
    charge:
      chargeIn(words) ?? `${first(words, /(?:^|\s)(\d+) credits? (?:now|\w{3} \d|\d)/) ?? '?'} 0`,
  };
}

function ofListFile(run: Optimization): Said {
  const [names = '', cells = ''] = runsCsv([listed(run)])
    .slice(1)
    .split('\r\n');
  const at = Object.fromEntries(names.split(',').map((name, i) => [name, cells.split(',')[i]]));
  return {
    status: at['status'],
    votes: votesIn(at['outcome'] ?? ''),
    agreement: at['agreement_score'] === '' ? undefined : at['agreement_score'],
    charge: charged(at['charged'] ?? '', at['refunded'] ?? ''),
  };
}

function ofMarkdown(run: Optimization): Said {
  const text = runMarkdown(run);
  return {
    status: run.result === null ? first(text, /\*\*(\w+)\.\*\*/) : undefined,
    votes: votesIn(text),
    agreement: first(text, /(\d+) of 100 \(/),
    charge: chargeIn(text),
  };
}

function ofJson(run: Optimization): Said {
  const {
    agreement_score: score,
    credits,
    outcome,
  } = JSON.parse(JSON.stringify(run)) as Optimization;
  return {
    votes: votesIn(outcome ?? ''),
    agreement: score === null ? undefined : String(score),
    charge: charged(String(credits.charged ?? ''), String(credits.refunded ?? '')),
  };
}

function ofEmail(run: Optimization): Said | null {
  const facts = finishedRun(run.council);
  if (facts === null) return null;
  const { subject, paragraphs } = finishedEmail(facts, 'http://127.0.0.1:3000');
  const text = [subject, ...paragraphs].join(' ');
  return {
    status: { complete: 'Completed', canceled: 'Canceled', failed: 'Failed' }[
      first(subject, /(complete|canceled|failed)/) ?? ''
    ],
    votes: votesIn(text),
    charge: chargeIn(text),
  };
}

const texts = {
  page: ofPage,
  list: ofList,
  'list as CSV': ofListFile,
  Markdown: ofMarkdown,
  JSON: ofJson,
  email: ofEmail,
};

describe('a run in all texts about it', () => {
  it.each(Object.entries(stories))('%s reads the same everywhere', (_, story) => {
    const run = story.copy();
    const { captured, refunded } = run.council.settled!;
    const total = run.result?.votes_total ?? 0;
    const expected = {
      status: { completed: 'Completed', cancelled: 'Canceled' }[run.status as string],
      votes:
        run.result?.heading === 'recommendation' && total > 0
          ? `${run.result.votes_for} of ${total}`
          : undefined,
      agreement: run.agreement_score === null ? undefined : String(run.agreement_score),
      charge: captured - refunded === 0 ? '0' : `${captured - refunded} ${refunded}`,
    };
    for (const [where, read] of Object.entries(texts)) {
      const said = read(run);
      if (said === null) continue;
      for (const [what, figure] of Object.entries(said)) {
        // No list, file of a list or summary knows the votes of a run of v0.1.
        if (what === 'votes' && run.votes_total === null && figure === undefined) continue;
        if (what === 'status' && where === 'Markdown' && run.result !== null) continue;
        expect(`${where}: ${what} ${figure}`).toBe(
          `${where}: ${what} ${expected[what as keyof Said]}`,
        );
      }
    }
  });

  it.each(Object.entries(stories))(
    '%s has the same votes on claims in its page and its CSV',
    (_, story) => {
      const run = story.copy();
      const rows = claimRows(run.council);
      const [, ...lines] = claimsCsv(rows).slice(1).trimEnd().split('\r\n');
      expect(lines).toHaveLength(Object.keys(run.council.ledger?.claims ?? {}).length);
      if (run.result === null || rows.length === 0) return;
      const words = wordsOf(<Findings run={run} />, [[runQuery(run.id).queryKey, run]]);
      const table = words.slice(words.indexOf('Claims by seat'));
      for (const [index, line] of lines.entries()) {
        const cells = line.split(',');
        const [begin = '', rest = ''] = table.split(` ${cells[0]} ${rows[index]!.text}`, 2);
        const [agree, row = ''] = / (\d+%|--) (.*)$/.exec(rest)?.slice(1) ?? [];
        expect([begin !== '', agree]).toEqual([true, cells[4] === '' ? '--' : `${cells[4]}%`]);
        const spoken = { agree: 'agrees', disagree: 'disagrees', unsure: 'is unsure' } as const;
        const stances = cells.slice(6, 6 + run.models.length);
        const inPage = row.match(/(?<=[+−?·] )(agrees|disagrees|is unsure|no vote)/g) ?? [];
        expect(inPage.slice(0, stances.length)).toEqual(
          stances.map((stance) => spoken[stance as keyof typeof spoken] ?? 'no vote'),
        );
      }
    },
  );
});
