import { createHmac, randomBytes } from 'node:crypto';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { createBackOff } from '../../core/lib/back-off.ts';
import type { Clock } from '../../core/lib/clock.ts';
import { reasonOf } from '../../core/lib/wording.ts';
import { isSameSecret } from '../../core/lib/digest.ts';
import type { RevocationObserver } from './observer.ts';
import type { SourceState } from '../../ports/revocation.ts';
import type { EventSource } from './sources.ts';
import type { RevocationAnswer } from './revoked.ts';
import type { LeaseState } from './place.ts';
import { STREAM_UPDATED } from './security-event.ts';
import type { SetOutcome, Receiver, SetSource } from './receiver.ts';
import { type EventStream, type SetRefusal, Transmitter, TransmitterError } from './transmitter.ts';

/** The parts of the delivery of a source. */
export interface DeliveryParts {
  readonly source: EventSource;
  readonly publicUrl: string;
  readonly receiver: Pick<Receiver, 'receive'>;
  readonly observer: RevocationObserver;
  readonly clock: Clock;
  /**
   * Whether this replica manages the stream and polls now. Rejects while the store is unavailable.
   *
   * @param polledAt {@link LeaseHolder.polledAt}
   */
  readonly lease: (polledAt: number | undefined) => Promise<LeaseState>;
  /** What all replicas share, so that each knows the verification states of the others. */
  readonly stateKey: string;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
/** The pause between polls of a transmitter that does not hold back its empty answers. */
const IDLE_MS = 500;
const STREAM_CHECK_MS = 5 * 60_000;
const LEASE_RENEWAL_MS = 5_000;
/** How long a replica trusts that another one polls. */
const SILENT_MS = 60_000;

/** The events of one source: keeps its stream, takes what it pushes, or polls. It is never in the way of a request. */
export class Delivery implements SetSource {
  readonly name: string;
  readonly targets: EventSource['targets'];
  readonly #parts: DeliveryParts;
  readonly #transmitter: Transmitter;
  readonly #loop: Promise<void>;
  #stream: EventStream | undefined;
  #lastEventAt: number | undefined;
  #problem: string | undefined;
  #checkAt = 0;
  /** When events were last known to arrive, here or at another replica. */
  #polledAt: number | undefined;
  readonly #begunAt: number;
  #isUp: boolean | undefined;
  #closed = false;
  /** Ends the pause. */
  #waking = new AbortController();

  constructor(parts: DeliveryParts) {
    const { source, publicUrl, clock } = parts;
    this.#parts = parts;
    this.#begunAt = clock();
    this.name = source.name;
    this.targets = source.targets;
    this.#transmitter = new Transmitter(source, publicUrl, clock);
    this.#loop = this.#run();
  }

  get source(): EventSource {
    return this.#parts.source;
  }

  async expected() {
    const { source } = this.#parts;
    const { keys, criticalMembers } = await this.#transmitter.metadata();
    const audiences = [source.audience, ...(this.#stream?.audiences ?? [])];
    return { issuer: source.issuer, audiences, keys, criticalMembers };
  }

  /** Takes a SET that was pushed, RFC 8935 §2. */
  async push(set: string): Promise<RevocationAnswer> {
    const received = await this.#receive(set);
    switch (received.kind) {
      case 'taken':
        return { status: 202 };
      case 'refused':
        return { status: 400, body: errorOf(received.error.code, received.error.message) };
      case 'unavailable':
        return { status: 503 };
    }
  }

  knowsState(state: unknown): boolean {
    const [nonce = '', mac = ''] = typeof state === 'string' ? state.split('.') : [];
    return isSameSecret(mac, this.#macOf(nonce));
  }

  onStreamEvent(uri: string): void {
    if (uri !== STREAM_UPDATED) return;
    this.#checkAt = 0;
    this.#waking.abort();
  }

  state(): SourceState {
    return { name: this.name, up: this.#isUp, problem: this.#problem, lastEventAt: this.#lastEventAt };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#transmitter.close();
    this.#waking.abort();
    await this.#loop;
    this.#parts.observer.sourceUp(this.name, undefined);
  }

  async #run(): Promise<void> {
    const backOff = createBackOff(FIRST_RETRY_MS, LONGEST_RETRY_MS, Math.random);
    let pauseMs = 0;
    const acks: Acks = { taken: [], refused: new Map() };
    while (!this.#closed) {
      try {
        pauseMs = await this.#step(acks);
        backOff.reset();
      } catch (error) {
        this.#setUp(false, reasonOf(error));
        // The stream may be gone: it is looked for again.
        if (error instanceof TransmitterError) this.#checkAt = 0;
        pauseMs = backOff.next();
      }
      if (!this.#closed && pauseMs > 0) await this.#pause(pauseMs);
    }
  }

  /** Does what is due; resolves with the pause until the next step. */
  async #step(acks: Acks): Promise<number> {
    const { source, lease } = this.#parts;
    const isManaged = source.token !== undefined;
    // Each replica has to know the audience of the stream. Only one makes it, and polls.
    const { isHeld: isLeader, polledAt } = await lease(this.#polls());
    if (isManaged && this.#parts.clock() >= this.#checkAt) await this.#check(isLeader);
    if (!isManaged) await this.#transmitter.metadata();
    if (!isLeader) {
      this.#polledAt = polledAt ?? this.#polledAt;
      const isSilent = this.#parts.clock() - Math.max(this.#polledAt ?? 0, this.#begunAt) > SILENT_MS;
      if (isSilent) this.#setUp(false, 'no replica has polled for a minute');
      else this.#setUp(undefined);
      return LEASE_RENEWAL_MS;
    }
    if (source.delivery === 'push') {
      this.#setUp(true);
      return Math.min(LEASE_RENEWAL_MS, Math.max(1, this.#checkAt - this.#parts.clock()));
    }
    return this.#poll(acks);
  }

  /** Finds the stream or makes it, enables a paused one, and asks for a verification of a new one. */
  async #check(isLeader: boolean): Promise<void> {
    const { source } = this.#parts;
    const found = await this.#find(isLeader);
    if (found === undefined) {
      if (isLeader) throw new TransmitterError('there is no stream, or several: name one by stream_id');
      return;
    }
    const isNew = this.#stream?.id !== found.id;
    this.#stream = found;
    if (isLeader) {
      const status = await this.#transmitter.status(found);
      if (status !== 'enabled') {
        if (source.stream === 'existing') throw new TransmitterError(`the stream is ${status}`);
        await this.#transmitter.enable(found);
      }
      // It would be in the way of the poll by which it arrives.
      if (isNew) void this.#transmitter.verify(found, this.#newState()).catch(() => {});
    }
    this.#checkAt = this.#parts.clock() + Math.min(STREAM_CHECK_MS, (found.inactivityMs ?? Infinity) / 2);
  }

  async #find(isLeader: boolean): Promise<EventStream | undefined> {
    const { source } = this.#parts;
    const streams = await this.#transmitter.streams();
    if (source.stream === 'existing') return streams.length === 1 ? streams[0] : undefined;
    const own = streams.find((stream) => this.#transmitter.isOwn(stream));
    if (!isLeader) return own;
    if (own !== undefined) return this.#transmitter.complete(own);
    const made = await this.#transmitter.create();
    if (made !== undefined) return made;
    // 409: a transmitter with one stream for each receiver.
    const again = await this.#transmitter.streams();
    return again.find((stream) => this.#transmitter.isOwn(stream)) ?? (again.length === 1 ? again[0] : undefined);
  }

  async #poll(acks: Acks): Promise<number> {
    const endpoint = this.#stream?.endpoint;
    if (endpoint === undefined) throw new TransmitterError('the stream has no endpoint to poll');
    const begun = this.#parts.clock();
    // The lease ends while a transmitter holds back its answer, unless it is renewed meanwhile.
    const renewal = setInterval(() => void this.#parts.lease(this.#polls()).catch(() => {}), LEASE_RENEWAL_MS).unref();
    const { taken, refused } = acks;
    try {
      const sets = await this.#transmitter.poll(endpoint, taken, refused);
      this.#setUp(true);
      acks.taken = [];
      acks.refused = new Map();
      const hasAll = await this.#take(sets, acks);
      // What could not be kept comes again.
      if (!hasAll) return FIRST_RETRY_MS;
      // A transmitter that forgets acknowledgements would be polled without end.
      const isNew = [...sets.keys()].some((id) => !taken.includes(id) && !refused.has(id));
      return isNew || this.#parts.clock() - begun >= IDLE_MS ? 0 : IDLE_MS;
    } finally {
      clearInterval(renewal);
    }
  }

  /** One after the other: requests are served between the events of an answer. */
  async #take(sets: ReadonlyMap<string, string>, acks: Acks): Promise<boolean> {
    for (const [id, set] of sets) {
      const received = await this.#receive(set);
      if (received.kind === 'unavailable') return false;
      if (received.kind === 'taken') acks.taken.push(id);
      else acks.refused.set(id, errorOf(received.error.code, received.error.message));
      await setImmediate();
    }
    return true;
  }

  async #receive(set: string): Promise<SetOutcome> {
    const received = await this.#parts.receiver.receive(this, set);
    if (received.kind === 'taken') this.#lastEventAt = this.#parts.clock();
    return received;
  }

  /** When events were last known to arrive: now, while nothing has failed. A transmitter may hold back its answer. */
  #polls(): number | undefined {
    if (this.#isUp === true) this.#polledAt = this.#parts.clock();
    return this.#polledAt;
  }

  #setUp(isUp: boolean | undefined, problem?: string): void {
    const { observer } = this.#parts;
    if (this.#closed) return;
    observer.sourceUp(this.name, isUp);
    if (isUp === false && this.#isUp !== false)
      observer.event('warn', 'a source of revocations is unavailable', { source: this.name, problem });
    if (isUp === true && this.#isUp === false)
      observer.event('info', 'a source of revocations is available again', { source: this.name });
    this.#isUp = isUp;
    this.#problem = problem;
  }

  async #pause(ms: number): Promise<void> {
    this.#waking = new AbortController();
    await setTimeout(ms, undefined, { ref: false, signal: this.#waking.signal }).catch(() => {});
  }

  #newState(): string {
    const nonce = randomBytes(16).toString('base64url');
    return `${nonce}.${this.#macOf(nonce)}`;
  }

  #macOf(nonce: string): string {
    const about = `revocation verification ${this.name} ${nonce}`;
    return createHmac('sha256', this.#parts.stateKey).update(about).digest('base64url');
  }
}

interface Acks {
  taken: string[];
  refused: Map<string, SetRefusal>;
}

function errorOf(err: string, description: string) {
  return { err, description: description.slice(0, 200) };
}
