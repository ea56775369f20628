import { addressBlock } from '../../core/lib/ip-address.ts';
import type { Call } from '../../core/model/call.ts';
import { Denial } from '../../core/model/denial.ts';
import type { Grant } from '../../core/model/grant.ts';
import type { Route } from '../../core/model/route.ts';
import { FairQueue } from './fair-queue.ts';
import type { metrics } from './metrics.ts';
import { reasons } from './reasons.ts';
import { type Concurrency, concurrencyOf } from './settings.ts';

type SetGauge = (name: keyof typeof metrics, value: number | undefined, route: string) => void;

/** A call that the upstream has. */
interface Held {
  /** Whether it ends with the header section of its answer, as streams do. */
  readonly isStream: boolean;
  readonly release: () => void;
}

/** The calls that upstreams have, by route. */
export class CallLimits {
  readonly #limits = new Map<string, CallLimit>();
  readonly #held = new WeakMap<Call, Held>();
  readonly #set: SetGauge;

  constructor(set: SetGauge) {
    this.#set = set;
  }

  /** Applies the bounds of these routes from now on. What is counted stays counted. */
  use(routes: readonly Route[]): void {
    const bounds = new Map(routes.map((route) => [route.name, concurrencyOf.of(route)] as const));
    for (const [name, limit] of this.#limits) {
      if (bounds.get(name) !== undefined) continue;
      this.#limits.delete(name);
      limit.end();
    }
    for (const [name, settings] of bounds) {
      if (settings !== undefined) this.#limitOf(name, settings).use(settings);
    }
  }

  /**
   * Waits for a turn. The call is counted until its answer has ended, or {@link begun}.
   *
   * @throws {Denial} `upstream.busy`
   */
  enter(route: string, call: Call, grant: Grant): void | Promise<void> {
    const limit = this.#limits.get(route);
    // The bounds were removed by a later configuration.
    if (limit === undefined || call.response.closed) return undefined;
    const { principal, action } = grant;
    const hold = (): void => {
      const release = once(() => limit.release());
      this.#held.set(call, { isStream: isStream(call, action), release });
      call.response.once('close', release);
      if (call.response.closed) release();
    };
    if (limit.take()) return hold();
    return limit.wait(principal?.callerKey ?? `address ${addressBlock(call.client)}`, call).then(hold);
  }

  /** The header section of the answer is complete. */
  begun(protocol: Route['protocol'], call: Call, isEventStream: boolean): void {
    const held = this.#held.get(call);
    if (held?.isStream === true || (protocol === 'http' && isEventStream)) held?.release();
  }

  #limitOf(route: string, settings: Concurrency): CallLimit {
    const known = this.#limits.get(route);
    if (known !== undefined) return known;
    const limit = new CallLimit(route, settings, this.#set);
    this.#limits.set(route, limit);
    return limit;
  }
}

/** GET of MCP, `subscriptions/listen` and WebSockets: they last, and their answers need nothing of the upstream. */
function isStream({ method, fields }: Call, { attempt }: Grant['action']): boolean {
  if (fields.upgrade !== undefined) return true;
  return attempt.kind === 'mcp' && (method === 'GET' || attempt.method.target === 'subscriptions');
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}

/** The calls of one route. */
class CallLimit {
  readonly #route: string;
  readonly #set: SetGauge;
  readonly #queue = new FairQueue<() => void>();
  #settings: Concurrency;
  #calls = 0;

  constructor(route: string, settings: Concurrency, set: SetGauge) {
    this.#route = route;
    this.#settings = settings;
    this.#set = set;
  }

  use(settings: Concurrency): void {
    this.#settings = settings;
    this.#admit();
    this.#report();
  }

  /** Lets all that wait go on: the route has no bounds any more. */
  end(): void {
    this.#settings = { ...this.#settings, calls: Infinity };
    this.#admit();
    this.#set('sallyport_upstream_calls', undefined, this.#route);
    this.#set('sallyport_upstream_queue', undefined, this.#route);
  }

  /** Counts a call, unless it has to wait. */
  take(): boolean {
    if (this.#calls >= this.#settings.calls || this.#queue.size > 0) return false;
    this.#calls += 1;
    this.#report();
    return true;
  }

  release(): void {
    this.#calls -= 1;
    this.#admit();
    this.#report();
  }

  /** Waits until the call is counted. @throws {Denial} `upstream.busy` */
  wait(owner: string, { response }: Call): Promise<void> {
    const { calls, queue, waitMs } = this.#settings;
    if (this.#queue.size >= queue) {
      const detail = `${calls} calls are at the upstream, and ${queue} wait`;
      return Promise.reject(new Denial(reasons['upstream.busy'], detail));
    }
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        response.removeListener('close', onClose);
      };
      const leave = (detail: string): void => {
        settle();
        this.#queue.remove(owner, admitted);
        this.#report();
        reject(new Denial(reasons['upstream.busy'], detail));
      };
      const admitted = (): void => {
        settle();
        resolve();
      };
      const onClose = (): void => leave('the client left while it waited');
      const timer = setTimeout(() => leave(`no turn within ${waitMs} ms`), waitMs);
      response.once('close', onClose);
      this.#queue.add(owner, admitted);
      this.#report();
    });
  }

  #admit(): void {
    while (this.#calls < this.#settings.calls) {
      const next = this.#queue.take();
      if (next === undefined) return;
      this.#calls += 1;
      next();
    }
  }

  #report(): void {
    if (this.#settings.calls === Infinity) return;
    this.#set('sallyport_upstream_calls', this.#calls, this.#route);
    this.#set('sallyport_upstream_queue', this.#queue.size, this.#route);
  }
}
