import { changedRequest } from '../mutate/request.ts';
import { kindOf } from '../kind-of.ts';
import type { Outcome, Target } from '../target.ts';
import { answered } from './answers.ts';
import { sendAll, type Received } from './clients.ts';
import { disagreement, wrongAnswer, type DecisionLine } from './oracle.ts';
import { startProxies } from './proxies.ts';
import { startPython, type PythonReading } from './python.ts';
import { startRecorder, type Recorded } from './recorder.ts';
import { startWorld } from './world.ts';

/** nginx and haproxy get one in this many of the requests that reached the upstream. */
const SAMPLE = 50;
const words = [
  'GET ',
  'POST ',
  ' HTTP/1.1\r\n',
  '\r\n',
  '\r\n\r\n',
  'Host: gateway.test\r\n',
  '0\r\n\r\n',
  ': ',
  'chunked',
  'Content-Length: ',
  'Transfer-Encoding: chunked\r\n',
  'Connection: ',
  'Authorization: Bearer {{bob}}\r\n',
  'X-Auth-Subject: root\r\n',
  'Expect: 100-continue\r\n',
  'GET /u/admin HTTP/1.1\r\nHost: gateway.test\r\n\r\n',
];

/** The log of a batch. */
interface BatchLog {
  readonly decisions: readonly DecisionLine[];
  /** The reasons of failures after a decision, by request id. */
  readonly failures: ReadonlyMap<string, string>;
  /** Log lines of internal errors. */
  readonly bugs: readonly string[];
}

/**
 * The whole path of a request. Sends bytes to a gateway on a real socket and records the bytes that reach the upstream.
 * Compares the readings of several parsers with the decision log.
 */
export async function startRequestTarget({ withProxies = true } = {}): Promise<Target> {
  let activity = 0;
  const active = (): void => void (activity += 1);
  const python = startPython();
  const reached: { readonly request: Recorded; readonly reading: Promise<PythonReading> }[] = [];
  const recorder = await startRecorder(
    answered,
    (request) => reached.push({ request, reading: python.read(request.raw) }),
    active,
  );
  const world = await startWorld(recorder.url, active);
  const { gateway, issuer, tokens } = world;
  const proxies = withProxies ? await startProxies() : undefined;
  const totals = { forwarded: 0, refused: 0, unsent: 0 };
  const crashes: string[] = [];
  const crashed = (error: unknown): void =>
    void crashes.push(error instanceof Error ? (error.stack ?? '') : String(error));
  process.on('uncaughtException', crashed).on('unhandledRejection', crashed);
  let sampled = 0;

  function filled(input: Buffer): Buffer {
    if (!input.includes('{{')) return input;
    return Buffer.from(
      input.toString('latin1').replaceAll(/\{\{\w+\}\}/g, (name) => tokens.get(name) ?? name),
      'latin1',
    );
  }

  async function takeLog(): Promise<BatchLog> {
    const lines = (await gateway.clearLog()) as unknown as (DecisionLine & { msg: string })[];
    const failed = lines.filter(({ msg }) => msg === 'request failed');
    return {
      decisions: lines.filter(({ msg }) => msg === 'decision'),
      failures: new Map(failed.map(({ request_id, reason = '' }) => [request_id, reason])),
      bugs: lines
        .filter(({ msg, reason }) => msg === 'a bug' || reason === 'gateway.error')
        .map((line) => JSON.stringify(line)),
    };
  }

  async function run(inputs: readonly Buffer[]): Promise<readonly Outcome[]> {
    const received = await sendAll(gateway.url, inputs.map(filled), () => activity + issuer.requests.length);
    const log = await takeLog();
    issuer.requests.length = 0;
    const requests = reached.splice(0);
    const findings = new Map<string, string>();
    const decisions = new Map(log.decisions.map((line) => [line.request_id, line]));
    const ids = new Set<string>();
    const sample: Recorded[] = [];
    for (const { request, reading } of requests) {
      const id = idOf(request);
      const found = ids.has(id)
        ? 'two requests reached the upstream for one decision'
        : disagreement(request, await reading, decisions.get(id));
      ids.add(id);
      if (found !== undefined) findings.set(id, `${found}\n${request.raw.toString('latin1')}`);
      else if (request.complete && ++sampled % SAMPLE === 0) sample.push(request);
    }
    const asked = sample.map(async (request) => [request, (await proxies?.read(request))?.[0]] as const);
    for (const [request, found] of await Promise.all(asked))
      if (found !== undefined) findings.set(idOf(request), `${found}\n${request.raw.toString('latin1')}`);
    const allowed = log.decisions.filter(({ allow }) => allow);
    totals.refused += log.decisions.length - allowed.length;
    totals.forwarded += ids.size;
    totals.unsent += allowed.filter(({ request_id }) => !ids.has(request_id)).length;
    const outcomes = received.map((each) => outcomeOf(each, decisions, log.failures, findings));
    // For a finding that belongs to no answer, run the cases one by one to find the one that causes it.
    const general = [...crashes.splice(0), ...recorder.takeMalformed(), ...log.bugs, ...findings.values()];
    const isAssigned = outcomes.some(({ finding }) => finding !== undefined);
    if (general.length === 0 || isAssigned) return outcomes;
    if (inputs.length > 1) return oneByOne(inputs, general[0] as string);
    return [{ way: 'finding', finding: general[0] }];
  }

  async function oneByOne(inputs: readonly Buffer[], what: string): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const input of inputs) outcomes.push(...(await run([input])));
    if (outcomes.some(({ finding }) => finding !== undefined)) return outcomes;
    const [first = { way: '' }, ...others] = outcomes;
    return [{ ...first, finding: `only together with other cases: ${what}` }, ...others];
  }

  return {
    batch: 384,
    words,
    mutate: changedRequest,
    run,
    summary() {
      const { forwarded, refused, unsent } = totals;
      const read = [...(proxies?.counts ?? [])].map(
        ([name, count]) => `${name} read ${count.forwarded} and refused ${count.refused}`,
      );
      return [
        `${forwarded} requests reached the upstream, ${refused} were refused`,
        `${unsent} were allowed, but their clients left`,
        ...read,
      ].join('; ');
    },
    async close() {
      process.off('uncaughtException', crashed).off('unhandledRejection', crashed);
      await world.close();
      await Promise.all([recorder.close(), python.close(), proxies?.close()]);
    },
  };
}

function idOf({ rawHeaders }: Recorded): string {
  const at = rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'x-request-id');
  return at === -1 ? '' : (rawHeaders[at + 1] ?? '');
}

/** The way is the decision, without the parts that vary from case to case. */
function outcomeOf(
  { answers }: Received,
  decisions: ReadonlyMap<string, DecisionLine>,
  failures: ReadonlyMap<string, string>,
  findings: ReadonlyMap<string, string>,
): Outcome {
  let finding: string | undefined;
  const ways = answers.map((answer) => {
    const { id = '', status } = answer;
    const decision = decisions.get(id);
    finding ??= findings.get(id) ?? wrongAnswer(answer, decision, failures.get(id));
    const { route, reason, detail } = { detail: '', ...decision };
    return [status, route, reason ?? failures.get(id), kindOf(detail)].join(' ');
  });
  return { way: ways[0] ?? '', passed: answers.some(({ isRelayed }) => isRelayed), finding };
}
