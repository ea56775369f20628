/** The calls of tools, or requests, that must have come before (`after`), or must not have (`never_after`). */
export interface PastDocument {
  /** Tool names or patterns. */
  readonly tool?: string | readonly string[];
  /** Instead of `tool`: requests or patterns, as under `requests`. */
  readonly request?: string | readonly string[];
  readonly within: string;
  /** JSON Pointers into the arguments of both calls. */
  readonly same?: readonly string[];
  /** `subject` (default), `client`, `actor`, `everyone` or a claim. */
  readonly by?: string;
}

/** The amount that one owner may use of an entry within a time: calls, or the sum of an argument. */
export interface QuotaDocument {
  readonly count?: number;
  /** JSON Pointer to a number in the arguments. */
  readonly sum?: string;
  /** With `sum`. */
  readonly at_most?: number;
  /** With `sum`: the number is an integer, or a string of decimal digits. */
  readonly integer?: true;
  readonly per: string;
  /** As {@link PastDocument.by}. */
  readonly by?: string;
}

/** Rules over time. */
export interface HistoryDocument {
  readonly after?: PastDocument;
  readonly never_after?: PastDocument;
  readonly quota?: readonly QuotaDocument[];
}

declare module '../../core/policy/document.ts' {
  interface ListedDocument {
    readonly after?: PastDocument;
    readonly never_after?: PastDocument;
    readonly quota?: readonly QuotaDocument[];
  }
}
