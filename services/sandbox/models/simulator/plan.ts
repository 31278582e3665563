import { seededInteger, seededOrder } from '#services/platform/seeded.ts';
import { optionsOf } from '#services/sandbox/models/cases.ts';
import type {
  CaseClaim,
  CaseOption,
  PreparedCase,
  SeatRole,
} from '#services/sandbox/models/cases.ts';

/**
 * How one council falls out: who recommends what, who votes for what, and who says which of the
 * case's sentences. The seed draws all of it. A seed that begins with `agree:5-2:` forces the sizes of
 * the camps, and `agree:5-2:o3:` also the option of the first; votes and rankings then follow the
 * camps strictly, so that the agreement of the run is known beforehand.
 */
export type Plan = {
  prepared: PreparedCase;
  forced: boolean;
  /** The options that are voted for, the winner first. */
  camps: readonly CaseOption[];
  seats: readonly PlannedSeat[];
  /** From 0 to 1, the same for the same purpose. */
  fraction: (purpose: string) => number;
};

export type PlannedSeat = {
  /** S1, R2, I3. */
  code: string;
  role: SeatRole;
  recommends: CaseOption;
  /** May differ: some are persuaded by what they read. */
  votes: CaseOption;
  /** Its number, from 0, among the seats that recommend the same: of its role, and of all. */
  turn: number;
  rank: number;
  claims: readonly CaseClaim[];
  /** The claims whose `why` it says. */
  whys: readonly CaseClaim[];
};

type Chair = Pick<PlannedSeat, 'code' | 'role' | 'recommends' | 'votes'>;
type Draw = { of: string; forced: readonly number[] | null; winner: string | null };

/** How many seats the sizes are written for; the places after them vote as the first ones do. */
const tableSize = 7;
const tries = 24;

/** @param panel codes of the seats, in the order in which sentences are dealt */
export function planFor(prepared: PreparedCase, seed: string, panel: readonly string[]): Plan {
  const [, sizes, winner] = /^agree:(\d+(?:-\d+){0,2}):(?:(o\d|undecidable):)?/.exec(seed) ?? [];
  const written = sizes?.split('-').map(Number) ?? [];
  const forced = written.reduce((sum, size) => sum + size, 0) === tableSize ? written : null;
  let best: { plan: Plan; silent: number } | null = null;
  for (let attempt = 0; attempt < tries && best?.silent !== 0; attempt += 1) {
    const draw = { of: `${seed}|${prepared.case}|${attempt}`, forced, winner: winner ?? null };
    const plan = drawn(prepared, panel, draw);
    const silent = plan.seats.filter(({ whys }) => whys.length === 0).length;
    if (best === null || silent < best.silent) best = { plan, silent };
  }
  if (best === null) throw new RangeError('A plan needs a panel');
  return best.plan;
}

function drawn(prepared: PreparedCase, panel: readonly string[], draw: Draw): Plan {
  const fraction = (purpose: string) => seededInteger(draw.of, purpose, 1_000_000) / 1_000_000;
  const options = orderOfOptions(prepared, draw, fraction);
  const sizes = draw.forced ?? drawnSizes(options[0]?.id === 'undecidable', fraction('sizes'));
  const camps = options.slice(0, sizes.length);
  const votes = votesOf(panel, camps, sizes, draw);
  const chairs = recommendations(prepared, panel, camps, votes, (code) =>
    draw.forced === null ? fraction(`persuaded ${code}`) : 1,
  );
  const seats = deal(prepared, chairs, draw.of);
  return { prepared, forced: draw.forced !== null, camps, seats, fraction };
}

function orderOfOptions(
  prepared: PreparedCase,
  draw: Draw,
  fraction: Plan['fraction'],
): CaseOption[] {
  const all = optionsOf(prepared);
  const drawnId = winnerShares.find(({ upTo }) => fraction('winner') < upTo)?.id ?? 'o1';
  const winner = draw.winner ?? (draw.forced === null ? drawnId : 'o1');
  const rest = seededOrder(
    draw.of,
    'rivals',
    all.filter(({ id }) => id !== winner),
  );
  // A known result needs camps that say what they vote for, which few may do who cannot decide.
  const rivals =
    draw.forced === null ? rest : rest.toSorted((one, other) => order(one.id) - order(other.id));
  return [...all.filter(({ id }) => id === winner), ...rivals];
}

function order(id: string): number {
  return id === 'undecidable' ? 1 : 0;
}

const winnerShares = [
  { id: 'o1', upTo: 0.48 },
  { id: 'o2', upTo: 0.7 },
  { id: 'o3', upTo: 0.9 },
  { id: 'undecidable', upTo: 1 },
];

function drawnSizes(undecided: boolean, fraction: number): readonly number[] {
  const shares = undecided ? undecidedShares : campShares;
  return shares.find(({ upTo }) => fraction < upTo)?.sizes ?? [5, 2];
}

const campShares = [
  { upTo: 0.16, sizes: [7] },
  { upTo: 0.44, sizes: [6, 1] },
  { upTo: 0.68, sizes: [5, 2] },
  { upTo: 0.82, sizes: [4, 3] },
  { upTo: 0.92, sizes: [5, 1, 1] },
  { upTo: 1, sizes: [4, 2, 1] },
];
const undecidedShares = [
  { upTo: 0.4, sizes: [5, 2] },
  { upTo: 0.7, sizes: [4, 3] },
  { upTo: 1, sizes: [4, 2, 1] },
];

function votesOf(
  panel: readonly string[],
  camps: readonly CaseOption[],
  sizes: readonly number[],
  { of }: Draw,
): ReadonlyMap<string, CaseOption> {
  const table = sizes.flatMap((size, index) => Array<number>(size).fill(index));
  const places = seededOrder(of, 'places', panel.slice(0, tableSize));
  // Who sits behind the table votes as the place in front: the shares stay about the same.
  return new Map(
    panel.map((code, index) => {
      const front = panel[index % tableSize] ?? code;
      return [code, camps[table[places.indexOf(front)] ?? 0] ?? camps[0]!];
    }),
  );
}

function recommendations(
  prepared: PreparedCase,
  panel: readonly string[],
  camps: readonly CaseOption[],
  votes: ReadonlyMap<string, CaseOption>,
  doubt: (code: string) => number,
): Chair[] {
  const undecided = new Set<SeatRole>();
  const counted = new Map<string, number>();
  const others = [...camps, ...prepared.options].filter(({ id }) => id !== 'undecidable');
  return panel.map((code, index) => {
    const role = roleOf(code);
    const vote = votes.get(code) ?? prepared.undecidable;
    const inCamp = counted.get(vote.id) ?? 0;
    counted.set(vote.id, inCamp + 1);
    const isPersuaded = vote === camps[0] && inCamp >= 2 && doubt(code) < persuadedShare;
    let recommends = isPersuaded ? (camps[1] ?? vote) : vote;
    if (recommends.id === 'undecidable') {
      if (undecided.has(role)) recommends = others[index % others.length] ?? recommends;
      else undecided.add(role);
    }
    return { code, role, recommends, votes: vote };
  });
}

const persuadedShare = 0.12;

function roleOf(code: string): SeatRole {
  if (code.startsWith('R')) return 'risk';
  return code.startsWith('I') ? 'implementation' : 'strategic';
}

/** Three to six claims for each seat, and to each at least one `why` where there are enough. */
function deal(prepared: PreparedCase, chairs: readonly Chair[], seed: string): PlannedSeat[] {
  const hands = new Map<string, CaseClaim[]>();
  const taken = new Set<string>();
  const authors = new Map<string, number>();
  const shuffled = seededOrder(seed, 'claims', prepared.claims);
  const own = ({ recommends }: Chair) => shuffled.filter((claim) => supports(claim, recommends));
  const fellows = (one: Chair) => chairs.filter(({ recommends }) => recommends === one.recommends);
  // Where there is least to choose from, it is chosen first.
  for (const chair of chairs.toSorted((one, other) => own(one).length - own(other).length)) {
    const { role } = chair;
    const all = own(chair);
    const sameRole = fellows(chair).filter((fellow) => fellow.role === role).length;
    const most = fellows(chair).length === 1 ? 6 : 5;
    const wanted = Math.min(most, Math.max(leastClaims, Math.ceil(all.length / sameRole)));
    const rarest = all.toSorted((one, other) => count(authors, one) - count(authors, other));
    const free = rarest.filter((claim) => !taken.has(`${role} ${claim.id}`)).slice(0, wanted);
    const shared = rarest.filter((claim) => !free.includes(claim));
    const hand = [...free, ...shared.slice(0, Math.max(0, leastClaims - free.length))];
    for (const claim of hand) {
      taken.add(`${role} ${claim.id}`);
      authors.set(claim.id, count(authors, claim) + 1);
    }
    hands.set(
      chair.code,
      prepared.claims.filter((claim) => hand.includes(claim)),
    );
  }
  const whys = dealWhys(prepared, chairs, hands);
  return chairs.map((chair, index) => {
    const before = chairs.slice(0, index).filter((one) => one.recommends === chair.recommends);
    const said = whys.get(chair.code) ?? [];
    return {
      ...chair,
      turn: before.filter(({ role }) => role === chair.role).length,
      rank: before.length,
      claims: hands.get(chair.code) ?? [],
      whys: prepared.claims.filter((claim) => said.includes(claim)),
    };
  });
}

const leastClaims = 3;
const mostWhys = 3;

function count(authors: ReadonlyMap<string, number>, { id }: CaseClaim): number {
  return authors.get(id) ?? 0;
}

export function supports(claim: CaseClaim, { id }: CaseOption): boolean {
  return claim.supports.includes(id);
}

/** Each `why` once: first one for every seat, by augmenting paths, then round robin. */
function dealWhys(
  prepared: PreparedCase,
  chairs: readonly Chair[],
  hands: ReadonlyMap<string, readonly CaseClaim[]>,
): ReadonlyMap<string, readonly CaseClaim[]> {
  const speaker = new Map<CaseClaim, string>();
  const choices = ({ code, recommends }: Chair) => {
    const hand = hands.get(code) ?? [];
    const rest = prepared.claims.filter(
      (each) => supports(each, recommends) && !hand.includes(each),
    );
    return [...hand, ...rest];
  };
  const byCode = new Map(chairs.map((chair) => [chair.code, chair]));
  const seated = (chair: Chair, seen: Set<CaseClaim>): boolean => {
    for (const claim of choices(chair)) {
      if (seen.has(claim)) continue;
      seen.add(claim);
      const holder = byCode.get(speaker.get(claim) ?? '');
      if (holder === undefined || seated(holder, seen)) {
        speaker.set(claim, chair.code);
        return true;
      }
    }
    return false;
  };
  // Who comes late in a camp has no opening, so nothing but a `why` to say.
  for (const chair of chairs.toReversed()) seated(chair, new Set());
  const said = new Map<string, CaseClaim[]>();
  for (const [claim, code] of speaker) said.set(code, [...(said.get(code) ?? []), claim]);
  for (let round = 1; round < mostWhys; round += 1)
    for (const { code } of chairs) {
      const more = hands.get(code)?.find((claim) => !speaker.has(claim));
      if (more === undefined) continue;
      speaker.set(more, code);
      said.set(code, [...(said.get(code) ?? []), more]);
    }
  return said;
}
