/**
 * Revocation: who may end the rights of whom, and what is kept of it. Loaded only where it is configured, once for all
 * processes of a gateway. Read this file first.
 *
 * | question                                       | file                                  |
 * | ---------------------------------------------- | ------------------------------------- |
 * | whose tokens an event names                    | `subjects.ts`                         |
 * | how an event is verified, and what it means    | `security-event.ts`                   |
 * | what is done with it, and how that is answered | `receiver.ts`                         |
 * | how events arrive                              | `delivery.ts`, `transmitter.ts`       |
 * | where revocations are kept                     | `keeper.ts`, and `../../store/revocation-place.ts` |
 *
 * @module
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../lib/clock.ts';
import type { Config } from '../../model/config.ts';
import type { RevocationObserver } from '../../model/events.ts';
import {
  MAX_REVOCATIONS,
  type OperatorRevocations,
  type Revocation,
  type RevocationAnswer,
  type RevocationNews,
  type RevocationQuestion,
  type RevocationSettings,
  type RevocationState,
  type RevokeCommand,
} from '../../model/revocation.ts';
import type { StoreObserver } from '../../model/shared.ts';
import { connectStore, LONG_COMMAND_MS, type LogStore, type StoreConnection } from '../../store/connection.ts';
import type { RevocationIndex } from '../../store/revocation-index.ts';
import { RevocationStore } from '../../store/revocation-store.ts';
import { createSealing } from '../../store/sealing.ts';
import { Delivery, type DeliveryTiming } from './delivery.ts';
import { Keeper } from './keeper.ts';
import { Receiver } from './receiver.ts';
import { namedTokens } from './subjects.ts';

/** What revocation needs of the process that it runs in. */
export interface RevocationParts {
  readonly index: RevocationIndex;
  readonly observer: RevocationObserver;
  readonly storeObserver: StoreObserver;
  readonly logStore: LogStore;
  readonly clock: Clock;
  /** Called with what other processes have to learn. */
  readonly onNews: (news: RevocationNews) => void;
  /** Called when everything is known that replicas have kept. */
  readonly onReady: () => void;
  readonly max?: number;
  readonly timing?: Partial<DeliveryTiming>;
}

/** How long the start waits for the store. */
const START_MS = 2_000;
/** How long a lease lives without its holder: the time without polls after a replica died. */
const LEASE_MS = 15_000;

/** The revocation of a gateway with `config.revocation`. */
export class Revocations implements OperatorRevocations {
  readonly #parts: RevocationParts;
  readonly #keeper: Keeper;
  readonly #receiver: Receiver;
  readonly #holder = randomUUID();
  readonly #randomKey = randomBytes(32).toString('hex');
  #config: Config;
  #connection: StoreConnection | undefined;
  #deliveries = new Map<string, Delivery>();

  private constructor(config: Config, parts: RevocationParts) {
    this.#config = config;
    this.#parts = parts;
    const { clock, index, onNews, observer, max } = parts;
    const keepMs = settingsOf(config).keepMs;
    const onFull = (issuer: string): void =>
      observer.event('error', 'no room for more revocations: all tokens of this issuer until now are revoked', {
        issuer,
      });
    this.#keeper = new Keeper({ clock, index, keepMs, onNews, onFull, max });
    this.#receiver = new Receiver({ keeper: this.#keeper, observer, clock });
  }

  /**
   * Opens what is kept, and begins to take events.
   *
   * @throws {RevocationFileFault} if the file cannot be used.
   */
  static async open(config: Config, parts: RevocationParts): Promise<Revocations> {
    const opened = new Revocations(config, parts);
    await opened.#openPlace();
    opened.#follow(settingsOf(config));
    return opened;
  }

  /** Serves by another configuration. The place of revocations stays. */
  use(config: Config): void {
    if (config.revocation === undefined) return;
    this.#config = config;
    this.#keeper.keepMs = config.revocation.keepMs;
    this.#follow(config.revocation);
  }

  /** Answers a question of a listener. Never rejects. */
  async answer(question: RevocationQuestion): Promise<RevocationAnswer> {
    if (question.ask === 'push')
      return (await this.#deliveries.get(question.source)?.push(question.set)) ?? { status: 404 };
    const { endpoint } = settingsOf(this.#config);
    return endpoint === undefined
      ? { status: 404 }
      : this.#receiver.endpoint(question.body, question.by, endpoint.targets);
  }

  /** Carries out a command. Resolves with the problem; undefined: it is kept. */
  async revoke({ subject, issuer, email }: RevokeCommand): Promise<string | undefined> {
    const targets = settingsOf(this.#config).commandTargets;
    const named =
      email === undefined
        ? namedTokens({ format: 'iss_sub', iss: issuer, sub: subject }, targets)
        : namedTokens({ format: 'email', email }, targets);
    if (named.kind !== 'tokens') return named.why;
    const isKept = await this.#receiver.revoke('command', named.tokens);
    return isKept ? undefined : 'revoked in this gateway until it stops; it cannot be kept: see the log';
  }

  all(): Iterable<Revocation> {
    return this.#parts.index.all();
  }

  state(): RevocationState {
    const sources = Array.from(this.#deliveries.values(), (delivery) => delivery.state());
    return { kept: this.#parts.index.size, most: this.#parts.max ?? MAX_REVOCATIONS, sources };
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#deliveries.values(), (delivery) => delivery.close()));
    await this.#keeper.close();
    await this.#connection?.close();
  }

  async #openPlace(): Promise<void> {
    const { shared, sessionKey = '' } = this.#config;
    const { file } = settingsOf(this.#config);
    const { observer, index, storeObserver, logStore, clock, max, onReady } = this.#parts;
    if (shared !== undefined) {
      this.#connection = connectStore(shared.url, storeObserver, logStore, undefined, LONG_COMMAND_MS);
      const complete = Promise.withResolvers<void>();
      const store = new RevocationStore({
        connection: this.#connection,
        sealing: createSealing(sessionKey),
        clock,
        keepMs: () => this.#keeper.keepMs,
        max,
        onNews: (revocations, dropped) => this.#keeper.take({ revocations, dropped }),
        onComplete() {
          index.setReady(true);
          onReady();
          complete.resolve();
        },
        known: () => index.all(),
        onCorrupt: (key) => observer.event('warn', 'shared store holds a revocation that no replica wrote', { key }),
      });
      this.#keeper.use(store);
      index.setReady(shared.onFailure === 'open');
      const timer = setTimeout(complete.resolve, START_MS);
      await complete.promise;
      clearTimeout(timer);
      return;
    }
    if (file !== undefined) {
      const cutBytes = await this.#keeper.useFile(file);
      if (cutBytes > 0)
        observer.event('warn', 'the end of revocation.file was not written whole, and is cut off', {
          file,
          bytes: cutBytes,
        });
    }
    onReady();
  }

  /** Begins and ends deliveries. One with unchanged settings goes on. */
  #follow({ sources }: RevocationSettings): void {
    const before = this.#deliveries;
    this.#deliveries = new Map();
    for (const [name, source] of sources) {
      const delivery = before.get(name);
      if (delivery !== undefined && isDeepStrictEqual(delivery.source, source)) {
        this.#deliveries.set(name, delivery);
        before.delete(name);
      }
    }
    for (const delivery of before.values()) void delivery.close();
    const { observer, clock, timing } = this.#parts;
    for (const [name, source] of sources) {
      if (this.#deliveries.has(name)) continue;
      const lease = (): Promise<boolean> => this.#keeper.lease(name, this.#holder, LEASE_MS);
      const parts = { source, publicUrl: this.#config.publicUrl, receiver: this.#receiver, observer, clock, lease };
      const stateKey = this.#config.sessionKey ?? this.#randomKey;
      this.#deliveries.set(name, new Delivery({ ...parts, stateKey, timing }));
    }
  }
}

function settingsOf({ revocation }: Config): RevocationSettings {
  if (revocation === undefined) throw new TypeError('revocation is not configured');
  return revocation;
}
