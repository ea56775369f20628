import { hash, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { LineLink } from '../capability.ts';

/** The head of a chain: its last line. */
export interface Head {
  readonly chain: string;
  readonly seq: number;
  /** SHA-256 in base64url of the bytes of the line, without its end. */
  readonly hash: string;
}

/** The key that signs checkpoints. */
export interface CheckpointKey {
  readonly kid: string;
  /** Ed25519. */
  readonly key: KeyObject;
}

/** The members that a chain adds to a line, at its end. */
export const linkedLine = /,"chain":"([\w-]{1,64})","seq":(0|[1-9][0-9]{0,15}),"prev":"([\w-]{43}|)"\}$/;

/** The parts of a chain. */
export interface ChainParts {
  /** Called for each checkpoint that is about to be written. */
  readonly onCheckpoint?: () => void;
  readonly key: CheckpointKey;
  /** The heads that it goes on from. */
  readonly follows: readonly Head[];
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/** A linked line of a batch that is being written. */
interface Linked {
  /** Where it begins and ends in the batch, in bytes; the end is that of its line feed. */
  readonly start: number;
  readonly end: number;
  readonly head: Pick<Head, 'seq' | 'hash'>;
  /** How many lines are lost if this one is: none for a checkpoint, of a line `lost` what it counts. */
  readonly counts: number;
  /** Whether it is a line of the log, and not of the chain. */
  readonly isOfLog: boolean;
}

const LINE_FEED = 0x0a;
const nothing = Buffer.alloc(0);
/** 96 random bits: two processes never have one id. */
const ID_BYTES = 12;

/**
 * The hash chain of one output of one process. Each line gets `chain`, `seq` from 0, and `prev`, the hash of the line
 * before. Checkpoints sign the hash of everything before them.
 *
 * A line counts once a byte of it was written: what is left of it comes first in the next write, so that lines are
 * written whole. Lines of which nothing was written are counted by a line `lost`.
 */
export class Chain implements LineLink {
  readonly #parts: ChainParts;
  readonly #id = randomBytes(ID_BYTES).toString('base64url');
  #head: Pick<Head, 'seq' | 'hash'> = { seq: -1, hash: '' };
  /** The lines of the batch that is being written. */
  #batch: readonly Linked[] = [];
  #bytes: Buffer = nothing;
  /** The end of a line that was written in part. */
  #rest: Buffer = nothing;
  #lost = 0;
  #isDue = false;
  /** Whether a line came after the last checkpoint. */
  #isOpen = false;

  constructor(parts: ChainParts) {
    this.#parts = parts;
  }

  /** Lets the next write end with a checkpoint, if a line came since the last one. */
  closeSection(): void {
    if (this.#isOpen) this.#isDue = true;
  }

  lose(lines: number): void {
    this.#lost += lines;
  }

  link(lines: Buffer): Buffer {
    const pieces: Buffer[] = [this.#rest];
    const batch: Linked[] = [];
    let size = this.#rest.length;
    let head = this.#head;
    const add = (line: Buffer, counts: number, isOfLog = false): void => {
      const seq = head.seq + 1;
      // The members stand at the end of each line: `}` is the last byte.
      const tail = Buffer.from(`,"chain":"${this.#id}","seq":${seq},"prev":"${head.hash}"}`);
      const linked = Buffer.concat([line.subarray(0, -1), tail]);
      head = { seq, hash: hash('sha256', linked, 'base64url') };
      pieces.push(linked, lineFeed);
      const end = size + linked.length + 1;
      batch.push({ start: size, end, head, counts, isOfLog });
      size = end;
    };
    const ownLine = (entry: object): Buffer => Buffer.from(JSON.stringify(entry));
    const checkpoint = (follows?: readonly Head[]): void => {
      const time = new Date(this.#parts.clock()).toISOString();
      const jws = this.#signed({ chain: this.#id, seq: head.seq + 1, prev: head.hash, time });
      add(ownLine({ time, level: 'info', msg: 'checkpoint', follows, jws }), 0);
      this.#parts.onCheckpoint?.();
    };
    if (head.seq === -1) checkpoint(this.#parts.follows);
    if (this.#lost > 0) {
      const time = new Date(this.#parts.clock()).toISOString();
      add(ownLine({ time, level: 'warn', msg: 'lost', count: this.#lost }), this.#lost);
      this.#lost = 0;
      this.#isOpen = true;
    }
    for (let at = 0; at < lines.length;) {
      const end = lines.indexOf(LINE_FEED, at);
      add(lines.subarray(at, end), 1, true);
      this.#isOpen = true;
      at = end + 1;
    }
    if (this.#isDue && this.#isOpen) {
      checkpoint();
      this.#isOpen = false;
    }
    this.#isDue = false;
    this.#batch = batch;
    this.#bytes = Buffer.concat(pieces, size);
    return this.#bytes;
  }

  settled(bytes: number): number {
    const written = this.#batch.filter(({ start }) => start < bytes);
    const last = written.at(-1);
    if (last !== undefined) this.#head = last.head;
    const end = last?.end ?? this.#rest.length;
    this.#rest = bytes < end ? this.#bytes.subarray(bytes, end) : nothing;
    const others = this.#batch.slice(written.length);
    if (others.some(({ counts }) => counts === 0)) this.#isOpen = true;
    this.#lost += others.reduce((sum, { counts }) => sum + counts, 0);
    this.#batch = [];
    this.#bytes = nothing;
    return others.filter(({ isOfLog }) => isOfLog).length;
  }

  /** A compact JWS, RFC 7515 §7.1, by EdDSA (RFC 8037). */
  #signed(payload: object): string {
    const { kid, key } = this.#parts.key;
    const text = [{ alg: 'EdDSA', kid }, payload]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`;
  }
}

const lineFeed = Buffer.from('\n');
