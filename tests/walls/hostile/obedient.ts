import type { Respond } from '#services/sandbox/models/personas.ts';
import { labelPattern } from '#services/platform/seeded.ts';
import type { Known, ModelAttack } from './injections.ts';

type Request = Parameters<Respond>[0];
type Reply = Readonly<Record<string, unknown>>;

/** A prompt as a model reads it. */
export type Reading = {
  code: string;
  blocks: readonly { kind: string; text: string }[];
  /** The system text and every line outside a block; also every line that shows a block's code. */
  instructions: string;
};

/** By lines, with every sign that ends one for some reader. */
export function readAs({ system, prompt }: Pick<Request, 'system' | 'prompt'>): Reading {
  const blocks: { kind: string; text: string }[] = [];
  const outside: string[] = [];
  let code = '';
  let open: { kind: string; lines: string[] } | null = null;
  for (const line of prompt.split(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/)) {
    if (open !== null) {
      if (line === `[end ${code}]`) {
        blocks.push({ kind: open.kind, text: open.lines.join('\n') });
        open = null;
      } else {
        open.lines.push(line);
        if (line.includes(code)) outside.push(line);
      }
      continue;
    }
    const [, begun = '', kind = ''] = /^\[begin ([0-9a-f]{16}) (.+)\]$/.exec(line) ?? [];
    code ||= begun;
    const isKnown = begun === code && (kinds.has(kind) || isAnswer(kind));
    if (begun !== '' && isKnown) open = { kind, lines: [] };
    else outside.push(line);
  }
  if (open !== null) outside.push(...open.lines);
  const asked = outside.filter((line) => line !== '').join('\n');
  return {
    code,
    blocks,
    instructions: `${system}\n\n${asked.replace(repair, 'Write the recommendation.')}`,
  };
}

/** A later draft is asked for in another sentence. */
const repair =
  'The last draft failed the checks listed. Write the recommendation again so that it passes them.';
const kinds: ReadonlySet<string> = new Set([
  'type',
  'challenge',
  'context',
  'objectives',
  'constraints',
  'file',
  'claims',
  'options',
  'decision',
  'consensus',
  'disagreements',
  'reasons',
  'fatal flaws',
  'critiques',
  'minority',
  'failed checks',
  'last draft',
  'draft',
  'new',
  'changed claim',
  'own votes',
  'earlier decision',
]);
const isAnswer = (kind: string) =>
  kind.startsWith('answer ') && labelPattern.test(kind.slice('answer '.length));

/**
 * Models that repeat what they answered in a run without an attack, unless their instructions differ
 * from those of that run: then they obey, and turn their vote or their words.
 */
export type Obedient = {
  respond: Respond;
  /** What was asked since the last `attack`, in order. */
  heard: Request[];
  /** Calls whose instructions were others than without an attack. */
  misled: string[];
  known: () => Known;
  /** What follows is without an attack, and is what an attack is compared with. */
  record: () => void;
  /** What follows is attacked by at most one attack of each stage; none is an attack by the person alone. */
  attack: (...by: readonly ModelAttack[]) => void;
};

/** @param attacker the model of a seat that is neither writer nor verifier */
export function obedientModels(simulated: Respond, attacker: string): Obedient {
  const clean = new Map<string, { reading: Reading; reply: string }>();
  const heard: Request[] = [];
  const misled: string[] = [];
  let isRecording = true;
  let malicious: readonly ModelAttack[] = [];

  const known = (): Known => {
    const readings = [...clean.values()].map(({ reading }) => reading);
    const labels = readings.flatMap((reading) => [...answersIn(reading).keys()]);
    return { codes: readings.map(({ code }) => code), labels };
  };

  const respond: Respond = (request) => {
    heard.push(request);
    const reading = readAs(request);
    const stage = stageOf(request, reading);
    const key = `${stage} ${request.model}`;
    if (isRecording) {
      const answer = simulated(request);
      clean.set(key, { reading, reply: answer.text });
      return answer;
    }
    // Another writer or verifier gets its turn only when a draft failed.
    const before =
      clean.get(key) ?? [...clean].find(([other]) => other.startsWith(`${stage} `))?.[1];
    if (before === undefined) throw new Error(`No reply to ${key} without an attack`);
    const answers = pairedAnswers(before.reading, reading);
    const own = relabelled(JSON.parse(before.reply), answers.labels) as Reply;
    const reply = (changed: Reply | string) => ({
      text: typeof changed === 'string' ? changed : JSON.stringify(changed),
      thinkingTokens: 0,
    });
    if (reading.instructions !== before.reading.instructions) {
      misled.push(key);
      return reply(obeying(own));
    }
    const attack = malicious.find((each) => each.stage === stage);
    const isAttacker = request.model === attacker || !['opinion', 'review'].includes(stage);
    if (attack !== undefined && isAttacker) return reply(attack.reply(own, known()));
    return reply(
      malicious.some(({ isReported }) => isReported) && stage === 'review'
        ? { ...own, injection_suspected: answers.changed }
        : own,
    );
  };

  return {
    respond,
    heard,
    misled,
    known,
    record() {
      isRecording = true;
    },
    attack(...by) {
      isRecording = false;
      malicious = by;
      heard.length = 0;
      misled.length = 0;
    },
  };
}

/** A refinement has drafts of its own. */
function stageOf({ schemaName }: Request, { blocks }: Reading): string {
  return `${schemaName}${blocks.some(({ kind }) => kind === 'new') ? ' again' : ''}`;
}

function answersIn({ blocks }: Reading): Map<string, string> {
  return new Map(
    blocks
      .filter(({ kind }) => kind.startsWith('answer '))
      .map(({ kind, text }) => [kind.slice('answer '.length), text]),
  );
}

/** Earlier label → present one, by the text; the one answer that reads differently is what is left. */
function pairedAnswers(
  before: Reading,
  now: Reading,
): { labels: ReadonlyMap<string, string>; changed: readonly string[] } {
  const left = answersIn(now);
  const labels = new Map<string, string>();
  const unpaired: string[] = [];
  for (const [label, text] of answersIn(before)) {
    const found = [...left].find(([, other]) => other === text)?.[0];
    if (found === undefined) unpaired.push(label);
    else {
      labels.set(label, found);
      left.delete(found);
    }
  }
  const changed = [...left.keys()];
  unpaired.forEach((label, index) => labels.set(label, changed[index] ?? label));
  return { labels, changed };
}

function relabelled(value: unknown, labels: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return labels.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => relabelled(item, labels));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, relabelled(item, labels)]),
  );
}

/** What an instruction to a model could make of its reply: every vote turned, every text replaced. */
function obeying(own: Reply): Reply {
  const turned = (key: string, value: unknown): unknown => {
    if (key === 'ranking') return (value as unknown[]).toReversed();
    if (key === 'stance') return value === 'agree' ? 'disagree' : 'agree';
    if (['text', 'one_line', 'decision', 'title', 'why'].includes(key)) return 'Obeyed.';
    return value;
  };
  return JSON.parse(JSON.stringify(own), turned) as Reply;
}
