import { expect, test } from 'vitest';
import { startCollector } from '../support/collector.ts';
import { startWorld, type World } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

const id = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';
const valid = `00-${id}-${parent}-01`;

const routes = (upstream: string): string => `
routes:
  - { name: open, path: /, public: true, upstream: { url: "${upstream}" } }
`;

/** Without spans of its own, and with. */
const collector = startBeforeAll(startCollector);
const plain = startBeforeAll(() => startWorld({ yaml: (_issuer, upstream) => routes(upstream) }));
const participant = startBeforeAll(() =>
  startWorld({
    yaml: (_issuer, upstream) => `telemetry: { otlp: "${collector.url}" }${routes(upstream)}`,
  }),
);

interface Seen {
  /** All fields of that name, as the upstream got them. */
  readonly traceparent: readonly string[];
  readonly tracestate: readonly string[];
  /** Of the log line. */
  readonly traceId: unknown;
}

/** What the upstream and the log see of a request with these lines in its header section. */
async function seen(world: World, ...lines: readonly string[]): Promise<Seen> {
  const before = world.upstream.seen.length;
  await world.gateway.clearLog();
  const answer = await world.sendRaw('GET / HTTP/1.1', 'Host: gateway.test', ...lines);
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
  expect(world.upstream.seen).toHaveLength(before + 1);
  const decisions = await world.gateway.decisions(1);
  expect(decisions).toHaveLength(1);
  const raw = world.upstream.seen.at(-1)?.rawHeaders ?? [];
  const valuesOf = (name: string): readonly string[] =>
    raw.flatMap((each, i) => (i % 2 === 0 && each.toLowerCase() === name ? [raw[i + 1] as string] : []));
  return {
    traceparent: valuesOf('traceparent'),
    tracestate: valuesOf('tracestate'),
    traceId: decisions[0]?.['trace_id'],
  };
}

const nothing: Seen = { traceparent: [], tracestate: [], traceId: undefined };

test('R-146, R-147, Trace Context §3.4, Trace Context §3.5: sends both on byte for byte without spans', async () => {
  const tracestate = 'rojo=00f067aa0ba902b7 ,\t congo=  t61rcWkgMzE,';
  expect(await seen(plain, `traceparent: ${valid}`, `tracestate: ${tracestate}`)).toEqual({
    traceparent: [valid],
    tracestate: [tracestate],
    traceId: id,
  });
});

test('R-146, Trace Context §3.4: makes up no traceparent without spans', async () => {
  expect(await seen(plain)).toEqual(nothing);
});

test.for(['close, TraceParent', 'x,tracestate\t,y'])(
  'R-128, RFC 9110 §7.6.1: drops a trace context for this hop only (Connection: %s)',
  async (options) => {
    const lines = [`Connection: ${options}`, `traceparent: ${valid}`, 'tracestate: rojo=1'];
    expect(await seen(plain, ...lines)).toEqual(nothing);
    expect((await seen(participant, ...lines)).traceId).not.toBe(id);
  },
);

// test/core/lib/http/trace-context.test.ts has the table of values.
const invalid: readonly (readonly [title: string, ...lines: string[]])[] = [
  ['version ff', `traceparent: ff-${id}-${parent}-01`],
  ['two, alike', `traceparent: ${valid}`, `traceparent: ${valid}`],
];

test.for(invalid)('R-142, Trace Context §3.2: drops both fields, or begins a new trace: %s', async ([, ...lines]) => {
  expect(await seen(plain, ...lines, 'tracestate: rojo=1')).toEqual(nothing);
  const { traceparent, tracestate, traceId } = await seen(participant, ...lines, 'tracestate: rojo=1');
  expect(tracestate).toEqual([]);
  expect(traceparent).toEqual([expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)]);
  expect(traceId).toBe(traceparent[0]?.slice(3, 35));
  expect(traceId).not.toBe(id);
});

test('R-145, Trace Context §3.3: drops tracestate without a valid traceparent', async () => {
  expect(await seen(plain, 'tracestate: rojo=1')).toEqual(nothing);
  expect((await seen(participant, 'tracestate: rojo=1')).tracestate).toEqual([]);
});

test.for([
  ['several fields are one list', ['tracestate: a=1', 'tracestate: b=2', 'TraceState: c=3'], ['a=1, b=2, c=3']],
  ['one that cannot be read is dropped alone', ['tracestate: ROJO=1'], []],
] as const)('R-145, Trace Context §3.3: reads tracestate: %s', async ([, lines, wanted]) => {
  for (const world of [plain, participant]) {
    const { traceparent, tracestate, traceId } = await seen(world, `traceparent: ${valid}`, ...lines);
    expect(tracestate).toEqual(wanted);
    expect([traceparent.length, traceId]).toEqual([1, id]);
  }
});

test('R-144, Trace Context §3.2.4: sends a later version on as it came, and version 00 where it records spans', async () => {
  const later = `01-${id}-${parent}-01-more`;
  expect(await seen(plain, `traceparent: ${later}`)).toEqual({ traceparent: [later], tracestate: [], traceId: id });
  const ours = await seen(participant, `traceparent: ${later}`);
  expect(ours.traceparent[0]).toMatch(new RegExp(`^00-${id}-(?!${parent})[0-9a-f]{16}-0[01]$`));
});

test('R-146, R-147, Trace Context §3.4, Trace Context §3.5: names its own span as the parent, and keeps tracestate', async () => {
  const { traceparent, tracestate, traceId } = await seen(participant, `traceparent: ${valid}`, 'tracestate: rojo=1');
  expect(traceparent[0]).toMatch(new RegExp(`^00-${id}-(?!${parent})[0-9a-f]{16}-01$`));
  expect([tracestate, traceId]).toEqual([['rojo=1'], id]);
  const upstream = (await collector.until((all) => all.some((span) => traceparent[0]?.includes(span.spanId)))).find(
    (span) => traceparent[0]?.includes(span.spanId),
  );
  expect(upstream).toMatchObject({ kind: 'client', traceId: id, traceState: 'rojo=1' });
});

test('R-143, Trace Context §3.2.2.5: keeps what was not sampled so, and clears unknown flags', async () => {
  const quiet = await seen(participant, `traceparent: 00-${id}-${parent}-00`);
  expect(quiet.traceparent[0]).toMatch(new RegExp(`^00-${id}-[0-9a-f]{16}-00$`));
  const odd = await seen(participant, `traceparent: 00-${id}-${parent}-fd`);
  expect(odd.traceparent[0]).toMatch(/-01$/);
  const random = await seen(participant, `traceparent: 00-${id}-${parent}-03`);
  expect(random.traceparent[0], 'level 2: random stays random').toMatch(/-03$/);
});
