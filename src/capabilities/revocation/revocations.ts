/**
 * Revocation: the rights that a transmitter or an operator may end, and what is kept of it. Loaded only where it is
 * configured. Read this file first.
 *
 * | question                                       | file                                  |
 * | ---------------------------------------------- | ------------------------------------- |
 * | whose tokens an event names                    | `subjects.ts`                         |
 * | how an event is verified, and what it means    | `security-event.ts`                   |
 * | what is done with it, and how that is answered | `receiver.ts`                         |
 * | how events arrive                              | `delivery.ts`, `transmitter.ts`       |
 * | where revocations are kept                     | `keeper.ts`, and `RevocationPlace`    |
 * | what they have an effect on                    | `effects.ts`, `told.ts`               |
 *
 * @module
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../core/lib/clock.ts';
import type { Config } from '../../ports/config.ts';
import type { RevocationObserver } from './observer.ts';
import { revocationMetrics } from './metrics.ts';
import type { RevocationPage, RevocationState, RevokeCommand, RevokedByCommand } from '../../ports/revocation.ts';
import {
  type Revocation,
  type RevocationAnswer,
  revocationId,
  type RevocationNews,
  type RevocationQuestion,
} from './revoked.ts';
import { MAX_REVOCATIONS, roomOf } from './place.ts';
import { LONG_COMMAND_MS, type LogStore, type OpenStore, type StoreConnection } from '../../ports/store.ts';
import { RevocationIndex } from './revocation-index.ts';
import { RevocationStore } from './revocation-store.ts';
import { createOwnMetrics, type Meters } from '../../core/telemetry/metrics.ts';
import type { AffectedParts, EndpointParts, KeptRevocations, RevocationParts } from '../capability.ts';
import { RevocationEffects } from './effects.ts';
import { RevocationEndpoints } from './endpoints.ts';
import { everything, readiness, type RevocationMessage } from './told.ts';
import { Delivery, type DeliveryParts } from './delivery.ts';
import { Keeper } from './keeper.ts';
import { Receiver } from './receiver.ts';
import { revocationSettings } from './slot.ts';
import type { RevocationSettings, RevocationTarget } from './sources.ts';
import { clientTokens, hasClients, type NamedTokens, namedTokens } from './subjects.ts';

const ROOM_USED = 'sallyport_revocation_room_used';
/** The revocations in a part of the list. */
const PAGE = 5_000;
const START_MS = 2_000;
/** How long a lease lives without its holder: the time without polls after a replica died. */
const LEASE_MS = 15_000;

/** The revocation of a gateway with `config.revocation`. */
export class Revocations implements KeptRevocations {
  readonly check: RevocationIndex;
  readonly #log: RevocationParts['log'];
  readonly #clock: Clock;
  readonly metrics = createOwnMetrics(revocationMetrics, (meters) => this.#measure(meters));
  readonly #observer: RevocationObserver;
  readonly #onNews: ((news: RevocationNews) => void)[] = [];
  readonly #onReady: (() => void)[] = [];
  readonly #keeper: Keeper;
  readonly #receiver: Receiver;
  readonly #replica = randomUUID();
  readonly #randomKey = randomBytes(32).toString('hex');
  readonly #openStore: OpenStore;
  #config: Config;
  #connection: StoreConnection | undefined;
  #deliveries = new Map<string, Delivery>();

  private constructor({ config, log, clock, openStore }: RevocationParts) {
    this.#config = config;
    this.#openStore = openStore;
    this.#log = log;
    this.#clock = clock;
    this.check = new RevocationIndex(clock);
    const { meters } = this.metrics;
    const observer: RevocationObserver = {
      counted: (...labels) => meters.add('sallyport_revocations_total', 1, ...labels),
      sourceUp: (source, up) =>
        meters.set('sallyport_revocation_source_up', up === undefined ? undefined : Number(up), source),
      event: (...event) => log.event(...event),
    };
    this.#observer = observer;
    const settings = settingsOf(config);
    const onNews = (news: RevocationNews): void => {
      for (const tell of this.#onNews) tell(news);
    };
    const onFull = (issuer: string): void =>
      observer.event('error', 'no room for more revocations: all tokens of this issuer until now are revoked', {
        issuer,
      });
    const { keepMs } = settings;
    const frontDoorIssuer = config.frontDoor?.issuer;
    this.#keeper = new Keeper({
      clock,
      index: this.check,
      keepMs,
      room: roomOf(settings),
      frontDoorIssuer,
      onNews,
      onFull,
    });
    this.#receiver = new Receiver({ keeper: this.#keeper, observer, clock });
  }

  /**
   * Opens what is kept, and begins to take events.
   *
   * @throws {RevocationFileFault} if the file cannot be used.
   */
  static async open(parts: RevocationParts): Promise<Revocations> {
    const opened = new Revocations(parts);
    await opened.#openPlace();
    opened.#follow(settingsOf(parts.config));
    return opened;
  }

  /** Serves by another configuration. The place of revocations stays. */
  use(config: Config): void {
    const settings = revocationSettings.of(config);
    if (settings === undefined) return;
    for (const issuer of issuersOf(this.#config)) this.metrics.meters.set(ROOM_USED, undefined, issuer);
    this.#config = config;
    this.#keeper.keepMs = settings.keepMs;
    this.#keeper.room = roomOf(settings);
    this.#keeper.frontDoorIssuer = config.frontDoor?.issuer;
    this.#follow(settings);
    this.#tellReadiness();
  }

  affect(parts: AffectedParts): void {
    const effects = new RevocationEffects({ ...parts, check: this.check });
    this.#onNews.push((news) => effects.take(news));
  }

  endpoints(config: Config, parts: EndpointParts): RevocationEndpoints {
    return new RevocationEndpoints(config, { ...parts, receive: this.#receive });
  }

  everything(): Iterable<RevocationMessage> {
    return everything(this.check);
  }

  follow(tell: (message: RevocationMessage) => void): void {
    this.#onNews.push((news) => tell({ kind: 'revoked', news }));
    this.#onReady.push(() => tell(readiness(this.check)));
  }

  readonly #receive = async (question: RevocationQuestion): Promise<RevocationAnswer> => {
    if (question.ask === 'refused') return this.#receiver.refused(question.source, question.address);
    if (question.ask === 'push')
      return (await this.#deliveries.get(question.source)?.push(question.set)) ?? { status: 404 };
    const { endpoint } = settingsOf(this.#config);
    return endpoint === undefined
      ? { status: 404 }
      : this.#receiver.endpoint(question.body, question.by, endpoint.targets);
  };

  async revoke(command: RevokeCommand): Promise<string | readonly RevokedByCommand[]> {
    const targets = settingsOf(this.#config).commandTargets;
    const named = commandTokens(command, targets);
    if (named.kind === 'foreign') return foreignIssuer(command, targets);
    if (named.kind !== 'tokens') return named.why;
    let revoked: readonly RevokedByCommand[] = [];
    const isKept = await this.#receiver.revoke('command', named.tokens, undefined, (revocations) => {
      revoked = revocations.map((revocation) => ({
        id: revocationId(revocation),
        blocks: revocation.blocks === true,
        isKnownIssuer: targets.some(({ tokenIssuer }) => tokenIssuer === revocation.issuer),
      }));
    });
    return isKept ? revoked : 'revoked in this gateway until it stops; it cannot be kept: see the log';
  }

  async lift(id: string): Promise<string | undefined> {
    const revocation = await this.#find(id);
    if (revocation === undefined) return `no revocation ${JSON.stringify(id.slice(0, 80))} is kept`;
    if (this.check.isFullFor({ issuer: revocation.issuer, lifted: '' }, this.#keeper.room))
      return 'the issuer has no room for more revocations';
    const isKept = await this.#receiver.lift(revocation);
    return isKept ? undefined : 'lifted in this gateway until it stops; it cannot be kept: see the log';
  }

  /** Some in each turn of the event loop: there may be a million. */
  async #find(id: string): Promise<Revocation | undefined> {
    let left = PAGE;
    for (const revocation of this.check.all()) {
      if (revocation.lifted === undefined && revocationId(revocation) === id) return revocation;
      left -= 1;
      if (left > 0) continue;
      await setImmediate();
      left = PAGE;
    }
    return undefined;
  }

  page(from: number): RevocationPage {
    let lines = '';
    let place = 0;
    for (const revocation of this.check.all()) {
      if (place === from + PAGE) return { lines, next: place };
      const { lifted, ...shown } = revocation;
      if (place >= from && lifted === undefined)
        lines += `${JSON.stringify({ id: revocationId(revocation), ...shown })}\n`;
      place += 1;
    }
    return { lines, next: undefined };
  }

  state(): RevocationState {
    const sources = Array.from(this.#deliveries.values(), (delivery) => delivery.state());
    return { kept: this.check.size, most: MAX_REVOCATIONS, sources };
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#deliveries.values(), (delivery) => delivery.close()));
    await this.#keeper.close();
    await this.#connection?.close();
  }

  async #openPlace(): Promise<void> {
    const { shared, sessionKey = '' } = this.#config;
    const { file } = settingsOf(this.#config);
    if (shared !== undefined) {
      const log: LogStore = (level, msg, fields) => this.#log.event(level, `${msg} (revocations)`, fields);
      const parts = { sessionKey, clock: this.#clock, log, commandMs: LONG_COMMAND_MS };
      const { connection, sealing } = await this.#openStore(shared, parts);
      this.#connection = connection;
      const complete = Promise.withResolvers<void>();
      const store = new RevocationStore({
        connection,
        sealing,
        clock: this.#clock,
        keepMs: () => this.#keeper.keepMs,
        // Above the rooms of all issuers, which replicas can overrun by what they have not read yet.
        max: 2 * MAX_REVOCATIONS,
        onNews: (revocations, dropped) => this.#keeper.take({ revocations, dropped }),
        onComplete: () => {
          this.check.setReady(true);
          this.#tellReadiness();
          complete.resolve();
        },
        known: () => this.check.all(),
        isLifted: (revocation) => this.check.isLifted(revocation),
        onCorrupt: (key) => this.#log.event('warn', 'shared store holds a revocation that no replica wrote', { key }),
      });
      this.#keeper.use(store);
      this.check.setReady(shared.onFailure === 'open');
      const timer = setTimeout(complete.resolve, START_MS);
      await complete.promise;
      clearTimeout(timer);
      return;
    }
    if (file !== undefined) {
      const cutBytes = await this.#keeper.useFile(file);
      if (cutBytes > 0)
        this.#log.event('warn', 'the end of revocation.file was not written whole, and is cut off', {
          file,
          bytes: cutBytes,
        });
    }
    this.#tellReadiness();
  }

  #measure(meters: Meters): void {
    meters.set('sallyport_revocations_kept', this.check.size);
    for (const issuer of issuersOf(this.#config))
      meters.set(ROOM_USED, this.check.used(issuer, this.#keeper.room), issuer);
  }

  #tellReadiness(): void {
    for (const tell of this.#onReady) tell();
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
    const [observer, clock, receiver] = [this.#observer, this.#clock, this.#receiver];
    for (const [name, source] of sources) {
      if (this.#deliveries.has(name)) continue;
      const lease: DeliveryParts['lease'] = (polledAt) =>
        this.#keeper.lease(name, { id: this.#replica, polledAt }, LEASE_MS);
      const parts = { source, publicUrl: this.#config.publicUrl, receiver, observer, clock, lease };
      const stateKey = this.#config.sessionKey ?? this.#randomKey;
      this.#deliveries.set(name, new Delivery({ ...parts, stateKey }));
    }
  }
}

function settingsOf(config: Config): RevocationSettings {
  const settings = revocationSettings.of(config);
  if (settings === undefined) throw new TypeError('revocation is not configured');
  return settings;
}

/** The tokens that a command names. An actor may be of an issuer whose tokens no route accepts. */
function commandTokens(
  { subject, issuer = '', email, client, actor }: RevokeCommand,
  targets: readonly RevocationTarget[],
): NamedTokens {
  if (email !== undefined) return namedTokens({ format: 'email', email }, targets);
  if (client !== undefined) return clientTokens({ client, issuer, ...(subject !== undefined && { subject }) }, targets);
  if (actor === undefined) return namedTokens({ format: 'iss_sub', iss: issuer, sub: subject }, targets);
  const known = targets.find(({ issuers, isProvider }) => !isProvider && issuers.includes(issuer));
  return { kind: 'tokens', tokens: [{ issuer: known?.tokenIssuer ?? issuer, actor }] };
}

/** The operator may read the issuers, which other sources of revocations may not. */
function foreignIssuer({ issuer = '', client }: RevokeCommand, targets: readonly RevocationTarget[]): string {
  const own = targets.filter((target) => client === undefined || hasClients(target)).flatMap(({ issuers }) => issuers);
  const names = [...new Set(own)].map((name) => JSON.stringify(name)).join(', ');
  return `the issuer ${JSON.stringify(issuer.slice(0, 200))} is none of this gateway, which has ${names}`;
}

/** The issuers of tokens that have a room. */
function issuersOf(config: Config): ReadonlySet<string> {
  return new Set(settingsOf(config).commandTargets.map(({ tokenIssuer }) => tokenIssuer));
}
