import type { Call } from '../model/call.ts';
import type { Grant } from '../model/grant.ts';
import type { Route } from '../model/route.ts';

/** An event stream or WebSocket, which outlives the decision that opened it. */
export interface OpenStream {
  readonly route: Route;
  readonly call: Call;
  readonly grant: Grant;
  /** Whether it is a WebSocket. */
  readonly isUpgrade: boolean;
  readonly end: (why: string) => void;
}

/** Those that are open now, so that a next configuration can decide on each again. */
export interface OpenStreams {
  add(stream: OpenStream): void;
  delete(stream: OpenStream): void;
}
