import type { Route } from './route.ts';

/** What forwarding reports while it happens; milliseconds. */
export interface ForwardObserver {
  /** The upstream's header section has come, `ms` after the request was sent. */
  upstreamAnswered(route: Route, ms: number): void;
  streamOpened(route: Route): void;
  streamClosed(route: Route): void;
}
