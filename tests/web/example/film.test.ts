import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  braidAt,
  endOf,
  type Film,
  filmMs,
  frameAt,
  parts,
  sentenceAt,
} from '#web/features/example/film.ts';
import { filmOf } from '#web/features/example/film-of-run.ts';
import type { Recording } from '#web/features/example/recording.ts';
import { claimsShown, type Marketing } from '#web/features/home/claims-shown.ts';

const content = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../../web/content', name), 'utf8');
const text = content('example-run.json');
const film = filmOf(JSON.parse(text) as Recording);
const moments = Array.from({ length: filmMs / 50 + 1 }, (_, index) => index * 50);

describe('the film of the recorded run', () => {
  it('every sentence of the film stands in the recording, word for word', () => {
    const { title, challenge, context, seats, options, votes, objection, decision } = film;
    const said = [
      title,
      challenge,
      context,
      ...seats.flatMap(({ name, answer }) => [name, answer]),
      ...options.map((option) => option.text),
      objection.text,
      objection.reply,
      ...votes.flatMap((vote) => [vote.text, vote.reason]),
      decision,
    ];
    // The texts of an event are JSON inside JSON.
    const recorded = text.replaceAll(/\\+"/g, '"');
    for (const sentence of said) expect(recorded).toContain(sentence);
    expect(seats).toHaveLength(7);
  });

  it('the votes that the film shows are those of the outcome it names', () => {
    expect(film.outcome).toBe('Recommended by 5 of 7 models');
    expect(film.votes.map(({ seats }) => seats.length)).toEqual([5, 1, 1]);
    expect(film.votes[0]?.seats.toSorted()).toEqual(film.options[0]?.seats.toSorted());
  });

  it('the recording never runs backward, and the film ends with its end', () => {
    const times = moments.map((ms) => frameAt(film, ms).at);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    const last = braidAt(film, frameAt(film, filmMs).at);
    expect(last.seats.map(({ progress }) => progress)).toEqual(Array(7).fill(100));
    expect(sentenceAt(film, frameAt(film, filmMs))).toBe(
      'Recommended by 5 of 7 models. Claude Sonnet 5.5 and Gemini 4 Hydrogen voted for something else.',
    );
  });

  it('each dissenter ends apart under its name, and the others end as one rope', () => {
    const { seats } = braidAt(film, frameAt(film, filmMs).at);
    const places = new Map(seats.map(({ name, placement, mark }) => [name, [placement, mark]]));
    const apart = ['Claude Sonnet 5.5', 'Gemini 4 Hydrogen'];
    for (const name of apart) expect(places.get(name)?.[1]).toBe(name);
    const rope = seats.filter(({ name }) => !apart.includes(name));
    expect(rope.map(({ mark }) => mark).filter(Boolean)).toEqual(['5 of 7']);
    const distinct = new Set([...places.values()].map(([placement]) => placement));
    expect(distinct.size).toBe(3);
  });

  it('no strand moves back or leaves its lane before the votes are counted', () => {
    const reached = new Map<string, number>();
    for (const ms of moments) {
      const { at } = frameAt(film, ms);
      for (const { seat, progress, placement } of braidAt(film, at).seats) {
        expect(progress).toBeGreaterThanOrEqual(reached.get(seat) ?? 0);
        reached.set(seat, progress);
        expect(placement === null).toBe(at < film.countedAt);
      }
    }
  });

  it.each([1, 2, 3, 4])('choosing phase %i shows all that happens in it', (part) => {
    const { part: shown, at, share } = frameAt(film, endOf(part));
    expect(shown).toBe(part);
    expect(share).toBeGreaterThan(0.99);
    const isDone = (one: Film['seats'][number]): boolean =>
      one.answeredAt <= at && (part === 1 || one.reviewedAt <= at + 1);
    expect(film.seats.every(isDone)).toBe(true);
  });

  it('the decision is being read after 20 seconds', () => {
    expect(parts[3]).toBeLessThanOrEqual(20_000);
    expect(frameAt(film, 20_000).share).toBeGreaterThanOrEqual(0.5);
  });
});

describe("the operator's claims", () => {
  const marketing = JSON.parse(content('marketing.json')) as Marketing;

  it('claims that nobody can check are left out until the operator switches them on', () => {
    expect(claimsShown(marketing)).toEqual([]);
    expect(marketing.shown).toEqual({ claims: false, mostPopular: false, pro: false });
    const on = { ...marketing.shown, claims: true };
    expect(claimsShown({ ...marketing, shown: on })).toEqual(marketing.claims);
    expect(marketing.claims.join(' ')).toMatch(/8 products across 5 spheres.*10X.*1\/100th/);
  });
});
