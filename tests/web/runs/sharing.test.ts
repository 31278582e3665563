import type { Page } from 'playwright-core';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { SharedRun } from '#services/optimizations/contract/sharing.ts';
import type { Share, SharedReply } from '#services/optimizations/contract/sharing.ts';
import { describeRun } from '#services/optimizations/reading/describe.ts';
import type { RunView } from '#services/optimizations/reading/view.ts';
import { sharedView } from '#services/optimizations/sharing/shared-view.ts';
import { runId } from '#tests/optimizations/run/run-script.ts';
import { failing, faultsInEveryLook, useMemberSite } from '#tests/web/support/member-site.ts';
import {
  given,
  included,
  inChain,
  refinedStory,
  rootStory,
} from '#tests/web/support/refinement-stories.ts';
import { runServer } from '#tests/web/support/run-server.ts';
import type { Story } from '#tests/web/support/run-story.ts';
import { type Api, ok, problem, type Reply } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

const fresh = inChain(rootStory, { refinable: included });
const address = `/api/optimizations/${runId}/shares`;
const token = 'T'.repeat(43);
const context = 'The agency has four people.';
const bare = { context: '', objectives: [], constraints: [], files: [] };

function shareOf(number: number, change: Partial<Share> = {}): Share {
  return {
    id: `shr_${String(number).padStart(26, '0')}`,
    url: `https://example.com/shared/${String(number).repeat(43)}`,
    shows_context: false,
    created_at: '2026-11-24T09:00:00.000Z',
    expires_at: '2026-12-24T09:00:00.000Z',
    ...change,
  };
}

/** The server of a finished run, which has a context unless it is changed, and of its links. */
function ownersServer(
  begin: readonly Share[],
  refusals: Partial<Record<string, Reply>> = {},
  change: Partial<RunView> = { context },
): Api {
  const shares = [...begin];
  const server = runServer(fresh, fresh.facts.length);
  const described = describeRun({ ...fresh.view(), ...change }, 0);
  return (call) => {
    const { method, path, body } = call;
    if (method === 'GET' && path === `/api/optimizations/${runId}`) return ok(described);
    if (!path.startsWith(address)) return server.api(call);
    const refused = refusals[method];
    if (refused) return refused;
    if (method === 'POST') {
      const { shows_context: showsContext } = body as { shows_context: boolean };
      shares.unshift(shareOf(shares.length + 1, { shows_context: showsContext }));
      return { status: 201, body: { data: shares[0] } };
    }
    if (method === 'GET') return ok([...shares]);
    const id = path.split('/').at(-1) ?? '';
    shares.splice(0, shares.length, ...shares.filter((one) => one.id !== id));
    return ok({ id, revoked: true });
  };
}

const sent = (method: string) =>
  site().calls.filter((call) => call.method === method && call.path.startsWith(address));
const dialog = (page: Page) => page.getByRole('dialog', { name: 'Share this result' });
const confirmation = (page: Page) => page.getByRole('dialog', { name: 'Revoke this link?' });
const share = (page: Page) => page.getByRole('button', { name: 'Share', exact: true });
const create = (page: Page) => dialog(page).getByRole('button', { name: 'Create link' });

describe('the dialog of a result', () => {
  it('the dialog passes axe, says what readers see, and makes a link that hides the context', async () => {
    const api = ownersServer([]);
    const page = await open(`/optimizations/${runId}`, { api });
    await share(page).press('Enter');
    await dialog(page)
      .getByText(/They never see your name, your files, or your credits/)
      .waitFor();
    await dialog(page).getByText('Answers, reasons and quotes may repeat').waitFor();
    await dialog(page).getByText('No working links.').waitFor();
    await create(page).click();
    await dialog(page).getByText('Expires on December 24, 2026 · Context hidden').waitFor();
    expect(await dialog(page).getByLabel('Link created on').inputValue()).toBe(shareOf(1).url);
    await dialog(page).getByLabel('Link expires after').selectOption('7 days');
    await dialog(page).getByLabel('Show the context').check();
    await create(page).click();
    await dialog(page).getByText('Context shown').waitFor();
    expect(sent('POST').map(({ body }) => body)).toEqual([
      { expires_in_days: 30, shows_context: false },
      { expires_in_days: 7, shows_context: true },
    ]);
    expect(new Set(sent('POST').map(({ headers }) => headers.get('idempotency-key'))).size).toBe(2);
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Share');
  });

  it('a run with nothing beside its question has no context to show, to hide or to warn about', async () => {
    const page = await open(`/optimizations/${runId}`, { api: ownersServer([], {}, bare) });
    await share(page).click();
    await dialog(page).getByText('No working links.').waitFor();
    expect(await dialog(page).innerText()).not.toMatch(/context|may repeat/i);
    await create(page).click();
    await dialog(page).getByText('Expires on December 24, 2026', { exact: true }).waitFor();
    // So the page does not say that something is hidden.
    expect(sent('POST')[0]?.body).toEqual({ expires_in_days: 30, shows_context: true });
  });

  it.each([
    ['objectives', { ...bare, objectives: ['Keep 3 clients'] }],
    ['constraints', { ...bare, constraints: ['No debt'] }],
    [
      'a fact of a refinement',
      {
        ...bare,
        before: {
          reviews: {},
          given: [{ text: given, claimId: null }],
          decision: null,
          heading: null,
        },
      },
    ],
  ] satisfies [string, Partial<RunView>][])(
    '%s can be hidden like the context',
    async (_, change) => {
      const page = await open(`/optimizations/${runId}`, { api: ownersServer([], {}, change) });
      await share(page).click();
      await dialog(page).getByLabel('Show the context').waitFor();
      await dialog(page).getByText('Hidden context can still come through').waitFor();
      await dialog(page).getByText('may repeat what your context says').waitFor();
    },
  );

  it('files are warned about without a context', async () => {
    const files = [{ name: 'prices.csv', text: 'plan,price' }];
    const page = await open(`/optimizations/${runId}`, {
      api: ownersServer([], {}, { ...bare, files }),
    });
    await share(page).click();
    await dialog(page).getByText('Hidden files can still come through').waitFor();
    expect(await dialog(page).innerText()).not.toMatch(/context/i);
  });

  it('a link is revoked after a confirmation and leaves the list, which takes the focus', async () => {
    const api = ownersServer([shareOf(2), shareOf(1)]);
    const page = await open(`/optimizations/${runId}`, { api });
    await share(page).click();
    const revoke = dialog(page).getByRole('button', { name: 'Revoke' });
    await revoke.first().press('Enter');
    await confirmation(page).getByText("loses access at once, and you can't undo this").waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => confirmation(page).count()).toBe(0);
    expect(await revoke.count()).toBe(2);
    await revoke.first().press('Enter');
    await confirmation(page).getByRole('button', { name: 'Keep link' }).press('Enter');
    await expect.poll(() => confirmation(page).count()).toBe(0);
    expect(sent('DELETE')).toEqual([]);
    await revoke.first().press('Enter');
    await confirmation(page).getByRole('button', { name: 'Revoke link' }).press('Enter');
    await expect.poll(() => revoke.count()).toBe(1);
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('UL');
    await page.getByText('Link revoked. It no longer works.').waitFor({ state: 'attached' });
    expect(sent('DELETE').map(({ path }) => path)).toEqual([`${address}/${shareOf(2).id}`]);
  });

  it('a link that could not be made, revoked or listed is said to be so, and a repeat carries the same key', async () => {
    const refusals: Partial<Record<string, Reply>> = { GET: failing };
    const api = ownersServer([shareOf(1)], refusals);
    const page = await open(`/optimizations/${runId}`, { api });
    await share(page).click();
    await dialog(page).getByText("We couldn't load the links").waitFor();
    delete refusals['GET'];
    await dialog(page).getByRole('button', { name: 'Try Again' }).click();
    const revoke = dialog(page).getByRole('button', { name: 'Revoke' });
    await revoke.waitFor();

    refusals['POST'] = failing;
    await create(page).click();
    await dialog(page).getByText("We couldn't create the link").waitFor();
    await create(page).click();
    await expect.poll(() => sent('POST').length).toBe(2);
    expect(new Set(sent('POST').map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1);
    refusals['POST'] = problem(409, 'too-many-shares', 'This result already has 10 live links.');
    await create(page).click();
    await dialog(page).getByText('This result already has 10 live links.').waitFor();

    refusals['DELETE'] = failing;
    await revoke.click();
    await confirmation(page).getByRole('button', { name: 'Revoke link' }).click();
    await dialog(page).getByText("We couldn't revoke the link, so it still works.").waitFor();
    expect(await revoke.count()).toBe(1);
  });
});

function replyOf(story: Story, { showsContext = false, isNewerShared = false } = {}): SharedReply {
  const view = sharedView({ ...story.view(), context }, { shareId: shareOf(1).id, showsContext });
  return {
    shows_context: showsContext,
    created_at: '2026-11-24T09:00:00.000Z',
    expires_at: '2026-12-24T09:00:00.000Z',
    newer_shared: isNewerShared,
    run: v.parse(SharedRun, describeRun(view, 0)),
  };
}

/** The server for a visitor, who has no session. */
function readersServer(answer: () => Reply): Api {
  return ({ path }) => {
    if (path === '/api/auth/session') return ok(null);
    if (path === `/api/shared/${token}`) return answer();
    return problem(404, 'not-found', "There's nothing at this address.");
  };
}

async function visit(answer: () => Reply): Promise<Page> {
  return open(`/shared/${token}`, { api: readersServer(answer) });
}

describe('the page of a link', () => {
  it('a visitor reads the whole result, with nothing that only its owner can do', async () => {
    const page = await visit(() => ok(replyOf(rootStory)));
    const own = rootStory.copy();
    await page.getByRole('heading', { name: own.title, level: 1 }).waitFor();
    await page
      .getByText("The person who asked isn't named, and any context they gave isn't shown.")
      .waitFor();
    await page.getByText('This link expires on December 24, 2026.').waitFor();
    expect(await page.title()).toBe(`${own.title} · Sevenfold`);
    expect(await page.locator('meta[name="robots"]').getAttribute('content')).toBe('noindex');
    for (const heading of ['Next steps', 'Reasons', 'Divergences', 'How this was reached'])
      await page.getByRole('heading', { name: heading, exact: true }).waitFor();
    await page.getByRole('navigation', { name: 'Contents' }).waitFor();
    const names = await page.locator('main').getByRole('button').allInnerTexts();
    for (const file of [
      'Copy as Markdown',
      'Markdown',
      'JSON',
      'Claims as CSV',
      'Print or save as PDF',
    ])
      expect(names).toContain(file);
    for (const action of ['Share', 'Request Refinement', 'Duplicate', 'Rename', 'Delete'])
      expect(names.join()).not.toContain(action);
    expect(await page.locator('main input').count()).toBe(0);
    const words = await page.locator('main').innerText();
    expect(words).not.toContain(context);
    expect(words).not.toMatch(/\byour?\b|credit|Cost/i);
    const asked = site().calls.filter(({ path }) => path.startsWith('/api/'));
    expect(asked.map(({ path }) => path).toSorted()).toEqual([
      '/api/auth/session',
      `/api/shared/${token}`,
    ]);
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('the files of a reader are made from what the reader was sent', async () => {
    const page = await visit(() => ok(replyOf(rootStory)));
    const file = async (name: string) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name, exact: true }).click(),
      ]);
      const stream = await download.createReadStream();
      return (await stream.toArray()).join('');
    };
    expect(await file('Claims as CSV')).toMatch(/^\uFEFFid,claim,importance/);
    expect(JSON.parse(await file('JSON'))).toEqual(
      JSON.parse(JSON.stringify(replyOf(rootStory).run)),
    );
    expect(await file('Markdown')).toContain('## Recommended by');
  });

  it('a link that shows the context shows it, and what a refinement was given', async () => {
    const page = await visit(() => ok(replyOf(refinedStory, { showsContext: true })));
    await page.locator('summary').getByText('The question', { exact: true }).click();
    await page.getByText(context).first().waitFor();
    await page.getByText("The person who asked isn't named. This link expires").waitFor();
    await page.getByText(given).first().waitFor();
    expect(await page.getByRole('link', { name: 'The first result' }).count()).toBe(0);
  });

  it('a refinement whose instruction is hidden says so, and a result that was refined since is marked', async () => {
    let reply = replyOf(refinedStory);
    const page = await visit(() => ok(reply));
    await page.getByText('Not shared').first().waitFor();
    await page.getByText('Corrected since', { exact: true }).first().waitFor();
    const words = await page.locator('main').innerText();
    expect(words).not.toContain(given);
    expect(words).not.toMatch(/you said|words from the changed fact/i);
    reply = replyOf(rootStory, { isNewerShared: true });
    await page.reload();
    await page.getByText('There is a newer result').waitFor();
  });

  it('a link that does not work says so, whatever became of it', async () => {
    const gone = problem(404, 'not-found', 'There is no such link.');
    let answer: Reply = gone;
    const page = await visit(() => answer);
    await page.getByRole('heading', { name: "This link doesn't work", level: 1 }).waitFor();
    expect(await page.title()).toBe("This link doesn't work · Sevenfold");
    expect(await faultsInEveryLook(page)).toEqual([]);
    answer = ok(replyOf(rootStory));
    await page.reload();
    await page.getByRole('heading', { name: rootStory.copy().title, level: 1 }).waitFor();
  });

  it('a result that could not be loaded can be tried again', async () => {
    let answer: Reply = failing;
    const page = await visit(() => answer);
    await page.locator('main').getByText("We couldn't load this result").waitFor();
    answer = ok(replyOf(rootStory));
    await page.getByRole('button', { name: 'Try Again' }).click();
    await page.getByRole('heading', { name: rootStory.copy().title, level: 1 }).waitFor();
  });
});
