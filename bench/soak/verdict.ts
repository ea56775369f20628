import type { Sample } from '../machine/gateway.ts';
import type { Soaked } from './soak.ts';

/** A check of a run. */
export interface Check {
  readonly what: string;
  readonly found: string;
  /** Undefined if the run was too short. */
  readonly holds: boolean | undefined;
  /** Can also fail because of a machine without spare time: answers are late and tokens expire. */
  readonly dependsOnMachine?: true;
}

/** The largest growth of memory in the second half of a run, by linear regression. */
const MAX_GROWTH_MIB = 8;
/** In shorter runs V8 is still warming up. */
const LEAST_MINUTES = 10;
/** Timers of persistent connections to authorization servers, which start during the run. */
const KEPT_TIMERS = 10;
/** The largest share of requests on a connection that the gateway has just closed. With keep-alive some occur. */
const MAX_NEVER_ARRIVED = 1e-3;
/** The largest share of unexpected answers. If the machine pauses for seconds, tokens expire and calls time out. */
const MAX_UNEXPECTED = 1e-3;

/** The checks of a run. */
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
    { what: 'no stream remains open', found: String(after.streams), holds: after.streams === 0 },
    equal(
      'answers by clients = answers by the gateway, by route and status',
      answers,
      metrics.by('sallyport_requests_total', ['route', 'status']),
    ),
    equal(
      'decision log = metrics, by route, decision and reason',
      decisions,
      metrics.by('sallyport_decisions_total', ['route', 'decision', 'reason']),
    ),
    equal('allowed = reached an upstream or missed it, by route', allowed, sumOf(reached, missed)),
    asksAgree(asked, metrics),
    {
      what: 'each request: client, log and upstream agree',
      found: `${total(client)} requests, ${ledger.problemCount} problems`,
      holds: ledger.problemCount === 0,
    },
    {
      what: 'requests lost on a closing connection',
      found: String(ledger.neverArrived),
      holds: ledger.neverArrived <= MAX_NEVER_ARRIVED * total(client),
      dependsOnMachine: true,
    },
    {
      what: 'unexpected answers',
      found: [String(total(unexpected)), ...[...unexpected].slice(0, 8).map(([key, value]) => `${key}: ${value}`)].join(
        '; ',
      ),
      holds: total(unexpected) <= MAX_UNEXPECTED * total(client),
      dependsOnMachine: true,
    },
    {
      what: 'no other error of a client',
      found: [`${faults.length}`, ...faults.slice(0, 3)].join('; '),
      holds: faults.length === 0,
      dependsOnMachine: true,
    },
    {
      what: 'every edit took effect, every mistake was refused',
      found: [
        `${edits.good} edits, ${logged} reloads`,
        `${edits.bad} mistakes, ${refused} refused`,
        `${edits.rotations} keys rotated`,
      ].join('; '),
      holds: logged >= edits.good && refused === edits.bad,
    },
  ];
}

function secondHalf<Each>(all: readonly Each[]): readonly Each[] {
  return all.slice(Math.floor(all.length / 2));
}

/** The growth over the samples by linear regression, in MiB. */
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

/** The counts of the authorization servers, with the gateway's names. Discovery by clients is not counted apart. */
const operations: Readonly<Record<string, string>> = {
  introspection: 'main introspection',
  exchange: 'main exchange',
  jwks: 'signer jwks',
  'discovery of the signer': 'signer discovery',
};

/** A failed call may or may not have reached its server. */
function asksAgree(asked: ReadonlyMap<string, number>, metrics: Soaked['metrics']): Check {
  const calls = metrics.by('sallyport_authorization_server_requests_total', ['server', 'operation', 'result']);
  const of = (operation: string, result: string): number => calls.get(`${operation} ${result}`) ?? 0;
  const counts = Object.entries(operations).map(([name, operation]) => {
    const answered = of(operation, 'ok') + of(operation, 'refused');
    return { name, came: asked.get(name) ?? 0, answered, failed: of(operation, 'error') };
  });
  return {
    what: 'calls by authorization servers = calls by the gateway',
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
