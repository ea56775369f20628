import type { Call } from '../model/call.ts';
import type { Grant } from '../model/grant.ts';
import type { Route } from '../model/route.ts';

/** An event stream, another answer without a length, or a WebSocket: it outlives the decision that opened it. */
export interface OpenStream {
  readonly route: Route;
  readonly call: Call;
  readonly grant: Grant;
  /** Whether it is a WebSocket. */
  readonly isUpgrade: boolean;
  readonly end: (why: string) => void;
  /** Asks about its token again every so many milliseconds from now on; undefined: it only expires. */
  readonly revalidateEvery: (intervalMs: number | undefined) => void;
}

/** Those that are open now, so that a next configuration can decide on each again. */
export interface OpenStreams {
  add(stream: OpenStream): void;
  delete(stream: OpenStream): void;
}
