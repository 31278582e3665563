import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { inReviews, inSynthesis, runId } from '#tests/optimizations/run/run-script.ts';
import { faultsInEveryLook, useMemberSite, violations } from '#tests/web/support/member-site.ts';
import {
  included,
  inChain,
  given,
  type Refinable,
  refinedId,
  refinedStory,
  rootStory,
  untilVoting,
} from '#tests/web/support/refinement-stories.ts';
import { resultStories } from '#tests/web/support/result-stories.ts';
import { runServer } from '#tests/web/support/run-server.ts';
import type { Story } from '#tests/web/support/run-story.ts';
import { type Api, type Call, ok, problem, type Reply } from '#tests/web/support/site.ts';

const { open, site } = useMemberSite();

const fresh = inChain(rootStory, {});
const whole = rootStory.facts.length;
const dear: Refinable = { allowed: true, reason: null, price: 3, running_id: null };
const underway = 'A refinement of this run is in progress. Wait until it ends, or cancel it.';

/** The server of a run, which answers a request to refine it, and of its refinement. */
function serverOf(story: Story, reply: (call: Call) => Reply, begin: number = whole) {
  const server = runServer(story, begin);
  const api: Api = (call) => {
    if (call.path === `/api/optimizations/${runId}/refine`) return reply(call);
    if (call.method === 'DELETE') return ok({ id: runId, deleted: true });
    if (call.path === `/api/optimizations/${refinedId}`) return ok(refinedStory.copy(untilVoting));
    return server.api(call);
  };
  return { ...server, api };
}

const begun = (): Reply => ({ status: 201, body: { data: refinedStory.copy(untilVoting) } });
const requests = (): Call[] => site().calls.filter(({ path }) => path.endsWith('/refine'));
const keyOf = (call: Call | undefined) => call?.headers.get('idempotency-key');
const ask = (page: Page) => page.getByRole('button', { name: 'Request Refinement' });
const send = (page: Page) => page.getByRole('button', { name: 'Send request' });
const composer = (page: Page) => page.getByRole('dialog');
const words = (page: Page) => composer(page).getByRole('textbox');

describe('the composer of a refinement', () => {
  it('the composer passes axe, keeps what was written, and sends an instruction at its price', async () => {
    const page = await open(`/optimizations/${runId}`, { api: serverOf(fresh, begun).api });
    await ask(page).press('Enter');
    await composer(page).getByText('Included with this run').waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    await composer(page).getByLabel('An instruction').check();
    await words(page).fill('x'.repeat(1001));
    await composer(page).getByText('1,001 of 1,000').waitFor();
    await send(page).click();
    await composer(page).getByText('At most 1000 characters').waitFor();
    expect(requests()).toEqual([]);
    await words(page).fill('Keep the team at 3 people.');
    await page.keyboard.press('Escape');
    await composer(page).waitFor({ state: 'hidden' });
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toContain('Request Refinement');
    await ask(page).click();
    expect(await words(page).inputValue()).toBe('Keep the team at 3 people.');
    await send(page).click();
    await page.getByText(given).waitFor();
    expect(new URL(page.url()).searchParams.get('id')).toBe(refinedId);
    expect(requests().map(({ body }) => body)).toEqual([
      { instruction: 'Keep the team at 3 people.', price: 0 },
    ]);
  });

  it('a claim that is different for the user stands above an empty field, and sending waits for the fact', async () => {
    const page = await open(`/optimizations/${runId}`, { api: serverOf(fresh, begun).api });
    await page.getByRole('button', { name: /^This is different for me.*claim c1$/ }).click();
    await composer(page).getByText('The claim c1 holds.').waitFor();
    await composer(page).getByText('Each later one costs 3 credits.').waitFor();
    expect(await words(page).inputValue()).toBe('');
    expect(await send(page).isDisabled()).toBe(true);
    await words(page).fill(given);
    await send(page).click();
    await page.getByText(given).waitFor();
    expect(requests()[0]?.body).toEqual({ changed_fact: given, claim_id: 'c1', price: 0 });
  });

  it('a missing fact begins the text, and sending waits for what is true', async () => {
    const story = inChain(resultStories.undecidable, {});
    const [fact] = story.copy().result!.missing_facts;
    const server = serverOf(story, begun, story.facts.length);
    const page = await open(`/optimizations/${runId}`, { api: server.api });
    await page.getByRole('button', { name: new RegExp(`^Add this fact.*${fact}$`) }).click();
    await composer(page).getByRole('heading', { name: 'Add this fact' }).waitFor();
    expect(await faultsInEveryLook(page)).toEqual([]);
    expect(await send(page).isDisabled()).toBe(true);
    await words(page).press('4');
    expect(await words(page).inputValue()).toBe(`${fact} 4`);
    await send(page).click();
    await page.getByText(given).waitFor();
    expect(requests()[0]?.body).toEqual({ changed_fact: `${fact} 4`, price: 0 });
  });

  it('a request without an answer is repeated with its key, and a refused one says why', async () => {
    let answers: Reply[] = [
      problem(503, 'unavailable', 'Try later.'),
      problem(409, 'not-refinable', underway),
      problem(402, 'insufficient-credits', 'This run costs 3 credits; you have 1.'),
    ];
    const next = (): Reply => {
      const [first, ...rest] = answers;
      answers = rest;
      return first ?? begun();
    };
    const page = await open(`/optimizations/${runId}`, { api: serverOf(fresh, next).api });
    await ask(page).click();
    await composer(page).getByLabel('Nothing new').check();
    await expect.poll(() => words(page).count()).toBe(0);
    await composer(page).getByLabel('A changed fact').check();
    await send(page).click();
    await composer(page).getByText('Write what is new, or leave it out').waitFor();
    await words(page).fill(given);
    await send(page).click();
    await composer(page).getByText('Sending it again never starts it twice.').waitFor();
    await send(page).click();
    await composer(page).getByText(underway).waitFor();
    await send(page).click();
    await composer(page).getByText('This run costs 3 credits; you have 1.').waitFor();
    const buy = composer(page).getByRole('link', { name: 'Buy More Credits' });
    expect(await buy.getAttribute('href')).toBe('/credits/purchase');
    expect(await words(page).inputValue()).toBe(given);
    const [first, second, third] = requests().map(keyOf);
    expect(second).toBe(first);
    expect(third).not.toBe(second);
  });

  it('a request that fails after its composer was closed says so on the page', async () => {
    const page = await open(`/optimizations/${runId}`, { api: serverOf(fresh, begun).api });
    const closed = Promise.withResolvers<void>();
    await page.route('**/refine', async (route) => {
      await closed.promise;
      await route.abort();
    });
    await ask(page).click();
    await words(page).fill(given);
    await send(page).click();
    await page.keyboard.press('Escape');
    await composer(page).waitFor({ state: 'hidden' });
    closed.resolve();
    const notices = page.getByRole('region', { name: 'Notifications' });
    await notices.getByText("Your request wasn't sent").waitFor();
    await ask(page).click();
    await expect.poll(() => words(page).inputValue()).toBe(given);
  });

  it('the price is shown beside the balance, and more credits are offered when they are too few', async () => {
    const story = inChain(rootStory, { refinable: dear });
    const page = await open(`/optimizations/${runId}`, { api: serverOf(story, begun).api });
    await ask(page).click();
    await composer(page).getByText('3 credits, 86 available').waitFor();
    await page.keyboard.press('Escape');
    site().answer(serverOf(inChain(rootStory, { refinable: { ...dear, price: 90 } }), begun).api);
    await ask(page).click();
    await composer(page).getByText('You need 4 credits more.').waitFor();
    expect(await send(page).isDisabled()).toBe(true);
  });

  it('during the synthesis the composer opens, and its text can be sent when the run completes', async () => {
    const server = serverOf(fresh, begun, inReviews().events.length);
    const page = await open(`/evolution-chamber?id=${runId}`, { api: server.api });
    await page
      .getByText('Reviewing the others')
      .or(page.getByText('Waiting to review'))
      .first()
      .waitFor();
    expect(await ask(page).isDisabled()).toBe(true);
    await expect.poll(server.watchers).toBe(1);
    server.publish(inSynthesis().events.length);
    await ask(page).click();
    await words(page).fill(given);
    await composer(page).getByText('You can send it when this run is complete.').waitFor();
    expect(await send(page).isDisabled()).toBe(true);
    server.publish(whole);
    await composer(page).getByText('Included with this run').waitFor();
    expect(await words(page).inputValue()).toBe(given);
    await send(page).click();
    await page.getByText(given).waitFor();
    expect(requests()[0]?.body).toEqual({ changed_fact: given, price: 0 });
  });
});

describe('a chain of results', () => {
  it("a refinement's page passes axe, says what changed, and can't be deleted alone", async () => {
    const story = inChain(refinedStory, { refinements: [refinedStory.view()] });
    const server = runServer(story, story.facts.length);
    const page = await open(`/optimizations/${refinedId}`, { api: server.api });
    await page.getByRole('heading', { name: 'What changed' }).waitFor();
    await page.getByText('To delete it, delete the run it refines.').waitFor();
    const first = page.getByRole('link', { name: 'The first result' }).first();
    expect(await first.getAttribute('href')).toBe(`/optimizations/${runId}`);
    expect(await page.getByRole('button', { name: /^Delete/ }).count()).toBe(0);
    expect(await faultsInEveryLook(page)).toEqual([]);
  });

  it('a result in refinement says so, names its refinement, and is deleted together with it', async () => {
    const voting = refinedStory.view(untilVoting);
    const refinable = { ...included, allowed: false, reason: underway };
    const story = inChain(rootStory, { refinements: [voting], refinable });
    const page = await open(`/optimizations/${runId}`, { api: serverOf(story, begun).api });
    await page.getByText(underway).waitFor();
    expect(await ask(page).isDisabled()).toBe(true);
    expect(await page.getByRole('button', { name: /different for me/ }).count()).toBe(0);
    const link = page.getByRole('link', { name: 'Refinement 1' }).first();
    expect(await link.getAttribute('href')).toBe(`/evolution-chamber?id=${refinedId}`);
    await page.getByRole('button', { name: /^Delete/ }).click();
    await composer(page).getByText('Its refinement is deleted too.').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(site().calls.some(({ method }) => method === 'DELETE')).toBe(false);
    await composer(page).getByRole('button', { name: 'Delete' }).click();
    await expect.poll(() => site().calls.some(({ method }) => method === 'DELETE')).toBe(true);
  });
});
