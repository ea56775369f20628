import { createPublicKey, hash, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { boundedAnswer } from '../../core/lib/http/bodies.ts';
import { ownFetch } from '../../tokens/servers/own-fetch.ts';
import { Gatherer } from '../../core/lib/gatherer.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import { counted, messageOf, printable } from '../../core/lib/wording.ts';
import { type ExitCode, Failure, print, unreadable, UsageError } from '../terminal.ts';
import { type Head, linkedLine } from './chain.ts';
import { kidOf } from './key.ts';

/** Where a line stands. */
interface Place {
  readonly file: string;
  readonly line: number;
}

/** Lines of one chain that follow each other in one file. */
interface Run {
  readonly first: { readonly seq: number; readonly prev: string; readonly place: Place };
  last: Head & { readonly place: Place };
}

interface Checkpoint {
  readonly seq: number;
  readonly time: string;
  readonly kid: string;
}

interface ReadChain {
  readonly runs: Run[];
  lines: number;
  lost: number;
  checkpoint: Checkpoint | undefined;
}

interface Fault {
  readonly place: Place;
  readonly message: string;
}

type Keys = ReadonlyMap<string, KeyObject>;

const MAX_KEYS_BYTES = 1024 * 1024;
const KEYS_MS = 10_000;
/** A longer line is not one of a gateway. */
const MAX_LINE = 16 * 1024 * 1024;
const LINE_FEED = 0x0a;

/**
 * `sallyport log --verify`: checks the chains of log files, in any order.
 *
 * @param keys A file or a URL with a JWK Set.
 * @returns 0, or 1 if a line was changed, dropped, doubled or moved.
 */
export async function verifyLog(files: readonly string[], keys: string | undefined): Promise<ExitCode> {
  if (keys === undefined)
    throw new UsageError(
      '--verify needs --keys: a file or the URL of /audit-keys of the admin listener, kept elsewhere',
    );
  const verifier = new Verifier(await readKeys(keys));
  for (const file of files) {
    try {
      await verifier.read(file);
    } catch (error) {
      throw unreadable(file, error);
    }
  }
  const { faults, report } = verifier.end();
  for (const line of report) print(`${line}\n`);
  for (const { place, message } of faults) process.stderr.write(`${printable(place.file)}:${place.line}: ${message}\n`);
  return faults.length === 0 ? 0 : 1;
}

async function readKeys(from: string): Promise<Keys> {
  const text = /^https?:\/\//.test(from) ? await fetchedKeys(from) : await fileOf(from);
  const set = parsedJson(text);
  const keys = isObject(set) && Array.isArray(set['keys']) ? (set['keys'] as unknown[]) : [set];
  const found = keys.flatMap((jwk) => {
    if (!isObject(jwk) || jwk['kty'] !== 'OKP' || jwk['crv'] !== 'Ed25519') return [];
    const { kty, crv, x } = jwk as JsonWebKey;
    return [[kidOf(jwk), createPublicKey({ key: { kty, crv, x } as JsonWebKey, format: 'jwk' })] as const];
  });
  if (found.length === 0) throw new Failure(`--keys: ${from} has no Ed25519 key as a JWK Set`);
  return new Map(found);
}

async function fileOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw unreadable(path, error);
  }
}

async function fetchedKeys(url: string): Promise<string> {
  try {
    const response = await ownFetch(url, { redirect: 'error', signal: AbortSignal.timeout(KEYS_MS) });
    if (!response.ok) throw new Failure(`--keys: ${url} answers ${response.status}`);
    return await (await boundedAnswer(response, MAX_KEYS_BYTES)).text();
  } catch (error) {
    throw error instanceof Failure ? error : new Failure(`--keys: ${url} does not answer: ${messageOf(error)}`);
  }
}

/** Reads files one after another. It keeps the ends of runs, and no lines. */
class Verifier {
  readonly #keys: Keys;
  readonly #chains = new Map<string, ReadChain>();
  readonly #faults: Fault[] = [];
  /** What checkpoints say that they follow, and where. */
  readonly #follows: (readonly [Head, Place])[] = [];

  constructor(keys: Keys) {
    this.#keys = keys;
  }

  async read(file: string): Promise<void> {
    /** Whether a line of a chain came: then every other line must be one too. */
    let hasChain = false;
    let number = 0;
    const open = new Gatherer();
    const take = (line: Buffer): void => {
      number += 1;
      const place = { file, line: number };
      hasChain = this.#take(line, place, hasChain);
    };
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      let at = 0;
      for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, at)) {
        open.push(chunk.subarray(at, end));
        take(open.take());
        at = end + 1;
      }
      open.push(chunk.subarray(at));
      if (open.length > MAX_LINE) throw new Failure(`${file}:${number + 1} has no end`);
    }
    if (open.length > 0) take(open.take());
  }

  #take(line: Buffer, place: Place, hasChain: boolean): boolean {
    const [, id, seqText = '', prev = ''] =
      linkedLine.exec(line.toString('latin1', Math.max(0, line.length - 256))) ?? [];
    if (id === undefined) {
      if (hasChain) this.#fault(place, 'belongs to no chain, and stands after lines that do: it was added or changed');
      return hasChain;
    }
    const seq = Number(seqText);
    const head = { chain: id, seq, hash: hash('sha256', line, 'base64url'), place };
    const chain = this.#chain(id);
    chain.lines += 1;
    this.#join(chain, head, prev);
    this.#readOwn(chain, line, { id, seq, prev, place });
    return true;
  }

  #chain(id: string): ReadChain {
    let chain = this.#chains.get(id);
    if (chain === undefined) {
      chain = { runs: [], lines: 0, lost: 0, checkpoint: undefined };
      this.#chains.set(id, chain);
    }
    return chain;
  }

  /** Adds a line to the run before it, or begins a run. */
  #join(chain: ReadChain, head: Run['last'], prev: string): void {
    const run = chain.runs.at(-1);
    if (run?.last.place.file === head.place.file && run.last.seq + 1 === head.seq) {
      if (run.last.hash !== prev) this.#fault(run.last.place, `was changed, or ${placed(head.place)} was`);
      run.last = head;
      return;
    }
    chain.runs.push({ first: { seq: head.seq, prev, place: head.place }, last: head });
  }

  /** Reads what a chain itself writes. */
  #readOwn(
    chain: ReadChain,
    line: Buffer,
    {
      id,
      seq,
      prev,
      place,
    }: { readonly id: string; readonly seq: number; readonly prev: string; readonly place: Place },
  ): void {
    const isFirst = seq === 0;
    if (!isFirst && !line.includes('"msg":"checkpoint"') && !line.includes('"msg":"lost"')) return;
    const entry = parsedJson(line.toString());
    const { msg, jws, count, follows } = isObject(entry) ? entry : {};
    if (msg === 'lost' && typeof count === 'number') chain.lost += count;
    if (msg !== 'checkpoint') {
      if (isFirst) this.#fault(place, 'is the first line of its chain, and no checkpoint');
      return;
    }
    const signed = this.#signed(jws);
    if (typeof signed === 'string') return this.#fault(place, `is a checkpoint ${signed}`);
    const { payload, kid } = signed;
    if (payload['chain'] !== id || payload['seq'] !== seq || payload['prev'] !== prev)
      return this.#fault(place, 'is a checkpoint whose signature is for another place');
    if (chain.checkpoint === undefined || chain.checkpoint.seq < seq)
      chain.checkpoint = { seq, kid, time: String(payload['time']) };
    if (isFirst && Array.isArray(follows))
      for (const each of (follows as unknown[]).filter(isHead)) this.#follows.push([each, place]);
  }

  /** The payload of a checkpoint, or why its signature does not count. */
  #signed(jws: unknown): { readonly payload: Readonly<Record<string, unknown>>; readonly kid: string } | string {
    const [header = '', body = '', signature = ''] = typeof jws === 'string' ? jws.split('.') : [];
    const { alg, kid } = memberOf(header);
    if (alg !== 'EdDSA' || typeof kid !== 'string') return 'without a signature';
    const key = this.#keys.get(kid);
    if (key === undefined) return `signed with a key that --keys does not have: ${printable(kid.slice(0, 64))}`;
    const isGenuine = verify(null, Buffer.from(`${header}.${body}`), key, Buffer.from(signature, 'base64url'));
    return isGenuine ? { payload: memberOf(body), kid } : 'with a wrong signature';
  }

  #fault(place: Place, message: string): void {
    this.#faults.push({ place, message });
  }

  end(): { readonly faults: readonly Fault[]; readonly report: readonly string[] } {
    const report: string[] = [];
    for (const [id, chain] of this.#chains) {
      this.#joinRuns(id, chain);
      report.push(...this.#reportOf(id, chain));
    }
    const absent = new Map<string, number>();
    for (const [{ chain: id, seq, hash: wanted }, place] of this.#follows) {
      if (!this.#chains.has(id)) absent.set(id, Math.max(seq, absent.get(id) ?? 0));
      else this.#compareEnd(id, seq, wanted, place);
    }
    for (const [id, seq] of absent)
      report.push(`chain ${printable(id.slice(0, 64))}: its lines, 0 to ${seq} at least, are in none of these files`);
    if (this.#chains.size === 0) report.push('no line belongs to a chain');
    return { faults: this.#faults, report };
  }

  /** Compares the ends of runs, which may be in different files. */
  #joinRuns(id: string, { runs }: ReadChain): void {
    const sorted = runs.toSorted((one, other) => one.first.seq - other.first.seq || one.last.seq - other.last.seq);
    for (const [index, { first }] of sorted.entries()) {
      const before = sorted[index - 1]?.last;
      if (before === undefined) continue;
      if (first.seq <= before.seq)
        this.#fault(first.place, `is line ${first.seq} of chain ${id} again: lines were doubled or moved`);
      else if (first.seq > before.seq + 1)
        this.#fault(first.place, `lines ${before.seq + 1} to ${first.seq - 1} of chain ${id} are missing before it`);
      else if (first.prev !== before.hash) this.#fault(before.place, `was changed, or ${placed(first.place)} was`);
      else if (first.place.file === before.place.file && first.place.line < before.place.line)
        this.#fault(first.place, `stands before line ${before.seq} of its chain: lines were moved`);
    }
  }

  #reportOf(id: string, { runs, lines, lost, checkpoint }: ReadChain): readonly string[] {
    const [first] = runs.toSorted((one, other) => one.first.seq - other.first.seq);
    const last = Math.max(...runs.map((run) => run.last.seq));
    const begin = (first?.first.seq ?? 0) > 0 ? `, begins at line ${first?.first.seq}, outside these files` : '';
    const after = last - (checkpoint?.seq ?? -1);
    const vouched =
      checkpoint === undefined
        ? 'no checkpoint vouches for it'
        : `last checkpoint at line ${checkpoint.seq}, ${printable(checkpoint.time)}, by ${printable(checkpoint.kid)}`;
    const open = checkpoint === undefined ? '' : `; no checkpoint vouches for ${counted(after, 'line')} after it`;
    const losses = lost === 0 ? '' : `; ${counted(lost, 'line')} could not be written`;
    return [`chain ${id}: ${counted(lines, 'line')}${begin}; ${vouched}${open}${losses}`];
  }

  /** Compares the end of a chain with what a later one found of it. */
  #compareEnd(id: string, seq: number, wanted: string, place: Place): void {
    const chain = this.#chains.get(id);
    if (chain === undefined) return;
    const last = chain.runs.map((run) => run.last).toSorted((one, other) => other.seq - one.seq)[0];
    if (last === undefined) return;
    if (last.seq < seq)
      this.#fault(place, `lines ${last.seq + 1} to ${seq} of chain ${id} are missing, which it follows`);
    else if (last.seq === seq && last.hash !== wanted) this.#fault(last.place, 'was changed after a later chain began');
  }
}

function placed({ file, line }: Place): string {
  return `${printable(file)}:${line}`;
}

function isHead(value: unknown): value is Head {
  if (!isObject(value)) return false;
  const { chain, seq, hash: digest } = value;
  return typeof chain === 'string' && Number.isSafeInteger(seq) && typeof digest === 'string';
}

function memberOf(base64: string): Readonly<Record<string, unknown>> {
  const value = parsedJson(Buffer.from(base64, 'base64url').toString());
  return isObject(value) ? value : {};
}
