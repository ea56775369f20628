/** A server between the load and the upstream: the gateway, or an alternative to it. */
export interface Contender {
  readonly name: string;
  /** Which of the gateway's tasks it performs. */
  readonly does: string;
  /** What to install first; undefined if it can start. */
  readonly missing?: () => string | undefined;
  start(surroundings: Surroundings): Promise<Running>;
}

/** The surroundings that each contender gets. */
export interface Surroundings {
  /** The origin of the upstream. `GET /api` returns a small JSON document, `POST /mcp` an event. */
  readonly upstream: string;
  /** The origin of the issuer, which is the `iss` of the tokens. */
  readonly issuer: string;
  /** PEM file of the key that the tokens are signed with. */
  readonly publicKey: string;
  /** `aud` of the tokens. */
  readonly audience: string;
  /** An existing folder for its own files. */
  readonly folder: string;
}

/** A server that is running. */
export interface Running {
  /** The origin for the load. */
  readonly url: string;
  /** Further origins of the contender. The load has as many connections to each; default: none. */
  readonly moreUrls?: readonly string[];
  /** The processes whose CPU time counts. */
  readonly pids: readonly number[];
  readonly stop: () => Promise<void>;
}
