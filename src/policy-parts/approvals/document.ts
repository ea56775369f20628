import type { ArgumentsDocument, ConditionDocument } from '../../core/policy/document.ts';

/** Which calls need the approval of a person, and whose. */
export interface ApprovalDocument {
  /** Default: all calls of the entry. */
  readonly when?: ArgumentsDocument;
  /** On the token of the person. */
  readonly by: ConditionDocument;
  readonly self?: boolean;
  readonly wait?: string;
  readonly valid?: string;
  /** JSON Pointers into the arguments. Default: all of them. */
  readonly shows?: readonly string[];
}

declare module '../../core/policy/document.ts' {
  interface ListedDocument {
    readonly approval?: ApprovalDocument;
  }
}
