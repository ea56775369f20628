import { findingLine } from '../cases.ts';
import { answered } from './answers.ts';
import { sendAll } from './clients.ts';
import { disagreement, wrongAnswer, type DecisionLine } from './oracle.ts';
import { startProxies } from './proxies.ts';
import { startPython, type PythonReading } from './python.ts';
import { fieldOf, startRecorder, type Recorded } from './recorder.ts';
import { startWorld } from './world.ts';

/** nginx and haproxy get one in this many of the requests that reached the upstream. */
const SAMPLE = 50;

/** The gateway between clients that send any bytes and an upstream that records them. */
export interface RequestTarget {
  /** Sends each case on a connection of its own, all at once. Returns the findings, each with its case. */
  run(inputs: readonly Buffer[]): Promise<readonly string[]>;
  /** The number of requests that reached the upstream. */
  readonly forwarded: number;
  close(): Promise<void>;
}

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
export async function startRequestTarget({ withProxies = true } = {}): Promise<RequestTarget> {
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
  let forwarded = 0;
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

  async function run(inputs: readonly Buffer[]): Promise<readonly string[]> {
    const received = await sendAll(gateway.url, inputs.map(filled), () => activity + issuer.requests.length);
    const log = await takeLog();
    issuer.requests.length = 0;
    const requests = reached.splice(0);
    const findings = new Map<string, string>();
    const decisions = new Map(log.decisions.map((line) => [line.request_id, line]));
    const ids = new Set<string>();
    const sample: Recorded[] = [];
    for (const { request, reading } of requests) {
      const id = fieldOf(request, 'x-request-id');
      const found = ids.has(id)
        ? 'two requests reached the upstream for one decision'
        : disagreement(request, await reading, decisions.get(id));
      ids.add(id);
      if (found !== undefined) findings.set(id, `${found}\n${request.raw.toString('latin1')}`);
      else if (request.complete && ++sampled % SAMPLE === 0) sample.push(request);
    }
    const asked = sample.map(async (request) => [request, (await proxies?.read(request))?.[0]] as const);
    for (const [request, found] of await Promise.all(asked))
      if (found !== undefined)
        findings.set(fieldOf(request, 'x-request-id'), `${found}\n${request.raw.toString('latin1')}`);
    forwarded += ids.size;
    const perCase = received.flatMap(({ answers }, i) => {
      const what = answers
        .map((answer) => {
          const id = answer.id ?? '';
          return findings.get(id) ?? wrongAnswer(answer, decisions.get(id), log.failures.get(id));
        })
        .find((each) => each !== undefined);
      return what === undefined ? [] : [`${what}\n${findingLine(inputs[i] as Buffer)}`];
    });
    if (perCase.length > 0) return perCase;
    // Findings that belong to no answer.
    return [...crashes.splice(0), ...recorder.takeMalformed(), ...log.bugs, ...findings.values()];
  }

  return {
    run,
    get forwarded() {
      return forwarded;
    },
    async close() {
      process.off('uncaughtException', crashed).off('unhandledRejection', crashed);
      await world.close();
      await Promise.all([recorder.close(), python.close(), proxies?.close()]);
    },
  };
}
