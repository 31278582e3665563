import { languageOf, nearestCase } from '#services/sandbox/models/cases.ts';
import type { PreparedCase } from '#services/sandbox/models/cases.ts';
import type { Material } from './material.ts';

/**
 * The check of a question, in the shape of `question_check`. It cannot judge, so it goes by signs: a
 * text that consists of no words, and a question with few words and no figure.
 */
export type QuestionCheckReply = {
  verdict: 'ready' | 'ask' | 'undecidable';
  questions: string[];
  why: string;
};

export function writeQuestionCheck({ asked, block }: Material): QuestionCheckReply {
  const rest = `${block('objectives')} ${block('constraints')}`;
  const written = `${asked.challenge} ${asked.context} ${rest}`;
  if (nearestCase(asked).exact) return ready;
  const language = languageOf(written);
  if (isNonsense(asked.challenge)) return { ...ready, verdict: 'undecidable', why: whys[language] };
  if (/\d/.test(written) || countWords(asked.context) >= enoughWords) return ready;
  const questions = questionsOf[language];
  return { ...ready, verdict: 'ask', questions: [...(questions[asked.type] ?? questions.other)] };
}

const ready: QuestionCheckReply = { verdict: 'ready', questions: [], why: '' };
const enoughWords = 40;

function countWords(text: string): number {
  return text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0;
}

/** Half of its words, or more, can be words of no language. */
export function isNonsense(challenge: string): boolean {
  const words = challenge.toLowerCase().match(/\p{L}+/gu) ?? [];
  return 2 * words.filter(isNoise).length >= words.length;
}

/** Keys beside each other, one letter for ever, or consonants alone. */
function isNoise(word: string): boolean {
  const runs = Array.from({ length: Math.max(0, word.length - 3) }, (_none, at) =>
    word.slice(at, at + 4),
  );
  const onKeys = runs.some((run) => keyRows.some((row) => row.includes(run)));
  const hasNoVowel = /^[b-df-hj-np-tv-xz]{4,}$/.test(word);
  return onKeys || hasNoVowel || /(\p{L})\1{3}/u.test(word);
}

// cspell:disable
const keyRows = ['qwertyuiop', 'qwertzuiop', 'asdfghjkl', 'zxcvbnm', 'yxcvbnm'];

type Language = PreparedCase['language'];

const whys: Readonly<Record<Language, string>> = {
  en: 'There is no question here that can be decided. Say what you have to decide, and between what.',
  de: 'Hier steht keine Frage, die sich entscheiden lässt. Schreiben Sie, was Sie entscheiden müssen und was zur Wahl steht.',
};

/** By challenge type. */
const questionsOf: Readonly<
  Record<Language, Readonly<Record<string, readonly string[]>> & { other: readonly string[] }>
> = {
  en: {
    business_strategy: [
      'What do you sell, at what price, and to about how many customers?',
      'What did the last year bring, and what did it cost?',
      'What would you give up for this, in money and in hours a month?',
    ],
    marketing: [
      'How many customers joined in the last three months, and how did they hear of you?',
      'How much money and how many hours a month can you spend on marketing?',
      'What is a new customer worth to you in the first year?',
    ],
    operations: [
      'How many hours a week does this take today, and who does it?',
      'How often does it happen in a month, and what goes wrong how often?',
      'Which tools do you use for it, and what do they cost?',
    ],
    finance: [
      'How much money is in the bank, and what are your fixed costs a month?',
      'What comes in over the next three months, and how certain is it?',
      'Which payments can be moved, and by how long?',
    ],
    product: [
      'How many customers use it, and what do they pay?',
      'What did customers who left say, and how many said it?',
      'How many weeks can you put into this?',
    ],
    sales: [
      'How many inquiries do you get a month, and how many of them buy?',
      'What does a customer pay, and for how long do they stay?',
      'Where do most inquiries end, and what reason do they give?',
    ],
    hiring: [
      'What would the person do, and how many hours a week does that take today?',
      'What can you pay a month, and for how many months is it safe?',
      'What would you do with the time that you get back?',
    ],
    other: [
      'Which options do you have, and by when must you decide?',
      'What does each option cost in money and in hours?',
      'By what would you know in half a year that it was right?',
    ],
  },
  de: {
    business_strategy: [
      'Was verkaufen Sie, zu welchem Preis und an etwa wie viele Kunden?',
      'Was hat das letzte Jahr eingebracht, und was hat es gekostet?',
      'Was würden Sie dafür einsetzen, in Geld und in Stunden im Monat?',
    ],
    marketing: [
      'Wie viele Kunden kamen in den letzten drei Monaten dazu, und woher kannten sie Sie?',
      'Wie viel Geld und wie viele Stunden im Monat haben Sie für Marketing?',
      'Was ist ein neuer Kunde Ihnen im ersten Jahr wert?',
    ],
    operations: [
      'Wie viele Stunden in der Woche kostet das heute, und wer macht es?',
      'Wie oft kommt es im Monat vor, und was geht wie oft schief?',
      'Welche Werkzeuge benutzen Sie dafür, und was kosten sie?',
    ],
    finance: [
      'Wie viel Geld liegt auf dem Konto, und wie hoch sind die Fixkosten im Monat?',
      'Was kommt in den nächsten drei Monaten herein, und wie sicher ist es?',
      'Welche Zahlungen lassen sich verschieben, und um wie lange?',
    ],
    product: [
      'Wie viele Kunden benutzen es, und was zahlen sie?',
      'Was haben Kunden gesagt, die gegangen sind, und wie viele waren es?',
      'Wie viele Wochen können Sie dafür aufwenden?',
    ],
    sales: [
      'Wie viele Anfragen bekommen Sie im Monat, und wie viele davon kaufen?',
      'Was zahlt ein Kunde, und wie lange bleibt er?',
      'An welcher Stelle enden die meisten Anfragen, und mit welcher Begründung?',
    ],
    hiring: [
      'Was würde die Person tun, und wie viele Stunden in der Woche kostet das heute?',
      'Was können Sie im Monat zahlen, und für wie viele Monate ist das sicher?',
      'Was würden Sie mit der gewonnenen Zeit tun?',
    ],
    other: [
      'Welche Möglichkeiten haben Sie, und bis wann müssen Sie entscheiden?',
      'Was kostet jede Möglichkeit an Geld und an Stunden?',
      'Woran würden Sie in einem halben Jahr erkennen, dass es richtig war?',
    ],
  },
};
// cspell:enable
