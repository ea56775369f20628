import type { Sample } from '../machine/gateway.ts';
import type { Soaked } from './soak.ts';

/** One thing that must be so. */
export interface Check {
  readonly what: string;
  readonly found: string;
  /** Undefined: the run was too short to tell. */
  readonly holds: boolean | undefined;
  /** Also the machine's: one that has no time to spare answers late, and lets tokens expire. */
  readonly dependsOnMachine?: true;
}

/** What memory may have grown in the second half of a run, by a line through its samples. */
const MAX_GROWTH_MIB = 8;
/** Before that V8 still makes itself at home. */
const LEAST_MINUTES = 10;
/** Connections to authorization servers begin to be kept, and have timers. */
const KEPT_TIMERS = 10;
/** Keep-alive ends on both sides at once: some of a million requests meet a closed connection, as everywhere. */
const MAX_NEVER_ARRIVED = 1e-3;
/** A machine that stands still for seconds lets tokens expire and questions time out. */
const MAX_UNEXPECTED = 1e-3;

/** Judges a soak. */
export function verdict(soaked: Soaked): readonly Check[] {
  const { samples, deepSamples, base, after, ledger, metrics, asked, edits, faults } = soaked;
  const { client, answers, decisions, reached, missed, events, unexpected } = ledger.totals;
  const isLong = (samples.at(-1)?.at ?? 0) >= LEAST_MINUTES * 60;
  const resident = growth(secondHalf(samples), ({ residentMiB }) => residentMiB);
  const heap = growth(secondHalf(deepSamples), ({ heapMiB }) => heapMiB);
  const allowed = sumBy(decisions, ([route, decision]) => (decision === 'allow' ? route : undefined));
  const logged = events.get('configuration reloaded') ?? 0;
  const refused = events.get('configuration refused; the last good one goes on') ?? 0;
  return [
    grows('resident memory', resident, isLong),
    grows('heap after garbage collection', heap, isLong),
    {
      what: 'descriptors after the load as before it',
      found: `${after.descriptors} and ${base.descriptors}`,
      holds: after.descriptors <= base.descriptors,
    },
    {
      what: 'timers after the load as before it',
      found: `${after.timers} and ${base.timers}`,
      holds: after.timers <= base.timers + KEPT_TIMERS,
    },
    { what: 'no stream is left open', found: String(after.streams), holds: after.streams === 0 },
    equal(
      'clients got = the gateway answered, by route and status',
      answers,
      metrics.by('sallyport_requests_total', ['route', 'status']),
    ),
    equal(
      'decision log = metrics, by route, decision and reason',
      decisions,
      metrics.by('sallyport_decisions_total', ['route', 'decision', 'reason']),
    ),
    equal('the gateway allowed = upstreams got, or were not there for, by route', allowed, sumOf(reached, missed)),
    asksAgree(asked, metrics),
    {
      what: 'each request: client, log and upstream agree',
      found: `${total(client)} requests, ${ledger.problemCount} problems`,
      holds: ledger.problemCount === 0,
    },
    {
      what: 'requests that met a closing connection, and reached nobody',
      found: String(ledger.neverArrived),
      holds: ledger.neverArrived <= MAX_NEVER_ARRIVED * total(client),
      dependsOnMachine: true,
    },
    {
      what: 'answers that were not expected',
      found: [String(total(unexpected)), ...[...unexpected].slice(0, 8).map(([key, value]) => `${key}: ${value}`)].join(
        '; ',
      ),
      holds: total(unexpected) <= MAX_UNEXPECTED * total(client),
      dependsOnMachine: true,
    },
    {
      what: 'no client met another fault',
      found: [`${faults.length}`, ...faults.slice(0, 3)].join('; '),
      holds: faults.length === 0,
      dependsOnMachine: true,
    },
    {
      what: 'every edit was taken up, every mistake refused',
      found: `${edits.good} edits, ${logged} reloads; ${edits.bad} mistakes, ${refused} refused; ${edits.rotations} keys rotated`,
      holds: logged >= edits.good && refused === edits.bad,
    },
  ];
}

function secondHalf<Each>(all: readonly Each[]): readonly Each[] {
  return all.slice(Math.floor(all.length / 2));
}

/** How much more there is at the end of a line through the samples than at its beginning, in MiB. */
function growth<Each extends Sample>(samples: readonly Each[], of: (sample: Each) => number): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const at = samples.map((sample) => sample.at);
  const values = samples.map(of);
  const [meanAt, meanValue] = [mean(at), mean(values)];
  const covariance = at.reduce((sum, x, i) => sum + (x - meanAt) * ((values[i] as number) - meanValue), 0);
  const variance = at.reduce((sum, x) => sum + (x - meanAt) ** 2, 0);
  return variance === 0 ? 0 : (covariance / variance) * ((at.at(-1) ?? 0) - (at[0] ?? 0));
}

function grows(what: string, mib: number, isLong: boolean): Check {
  const found = `${mib.toFixed(1)} MiB in the second half, at most ${MAX_GROWTH_MIB}`;
  return { what: `${what} does not grow`, found, holds: isLong ? mib <= MAX_GROWTH_MIB : undefined };
}

function equal(what: string, ours: ReadonlyMap<string, number>, theirs: ReadonlyMap<string, number>): Check {
  const different = [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((key) => (ours.get(key) ?? 0) !== (theirs.get(key) ?? 0))
    .map((key) => `${key}: ${ours.get(key) ?? 0} and ${theirs.get(key) ?? 0}`);
  const found = different.length === 0 ? `${total(ours)}, equal` : different.slice(0, 8).join('; ');
  return { what, found, holds: different.length === 0 };
}

/** What authorization servers count, as the gateway's metrics call it. Discovery by people's clients is not told apart. */
const operations: Readonly<Record<string, string>> = {
  introspection: 'main introspection',
  exchange: 'main exchange',
  jwks: 'signer jwks',
  'discovery of the signer': 'signer discovery',
};

/** A call that failed may have come to its server or not. */
function asksAgree(asked: ReadonlyMap<string, number>, metrics: Soaked['metrics']): Check {
  const calls = metrics.by('sallyport_authorization_server_requests_total', ['server', 'operation', 'result']);
  const of = (operation: string, result: string): number => calls.get(`${operation} ${result}`) ?? 0;
  const counts = Object.entries(operations).map(([name, operation]) => {
    const answered = of(operation, 'ok') + of(operation, 'refused');
    return { name, came: asked.get(name) ?? 0, answered, failed: of(operation, 'error') };
  });
  return {
    what: 'authorization servers were asked = the gateway asked',
    found: counts
      .map(
        ({ name, came, answered, failed }) =>
          `${name} ${came} = ${answered}${failed > 0 ? ` and ${failed} failed` : ''}`,
      )
      .join('; '),
    holds: counts.every(({ came, answered, failed }) => answered <= came && came <= answered + failed),
  };
}

function sumOf(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...one.keys(), ...other.keys()].map((key) => [key, (one.get(key) ?? 0) + (other.get(key) ?? 0)]));
}

function sumBy(
  counts: ReadonlyMap<string, number>,
  keyOf: (words: readonly string[]) => string | undefined,
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const [words, value] of counts) {
    const key = keyOf(words.split(' '));
    if (key !== undefined) sums.set(key, (sums.get(key) ?? 0) + value);
  }
  return sums;
}

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, value) => sum + value, 0);
}
