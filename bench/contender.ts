import type { Readable } from 'node:stream';

/** What stands between the load and the upstream: us, and what else one could put there. */
export interface Contender {
  readonly name: string;
  /** What it does of what we do. */
  readonly does: string;
  /** What has to be installed first; undefined where it can be started. */
  missing(): string | undefined;
  start(surroundings: Surroundings): Promise<Running>;
}

/** What every contender gets. */
export interface Surroundings {
  /** Origin of the upstream: `GET /api` answers a small JSON, `POST /mcp` an event. */
  readonly upstream: string;
  /** Signs the tokens; its origin is their `iss`. */
  readonly issuer: string;
  /** PEM file of the key that the tokens are signed with. */
  readonly publicKey: string;
  /** `aud` of the tokens. */
  readonly audience: string;
  /** An existing folder for its files, its own. */
  readonly folder: string;
}

/** A contender that serves. */
export interface Running {
  /** Origin that the load is sent to. */
  readonly url: string;
  /** The processes whose time counts. */
  readonly pids: readonly number[];
  /** What it says about itself. */
  readonly output?: Readable | undefined;
  readonly stop: () => Promise<void>;
}
