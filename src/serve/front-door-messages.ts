import type { Snapshot } from '../config/files.ts';
import type { LogStore } from '../store/connection.ts';
import type { RevocationMessage } from './revocation.ts';
import type { FrontDoorObserver } from '../model/front-door.ts';

/** A message to the process of the front door. */
export type ToFrontDoor =
  | RevocationMessage
  | { readonly kind: 'begin'; readonly file: string; readonly snapshot: Snapshot }
  | { readonly kind: 'reload'; readonly file: string; readonly snapshot: Snapshot }
  | { readonly kind: 'stop' };

/** What the front door observed, as a call of its observer. */
export type FrontDoorEvent = {
  [Name in keyof FrontDoorObserver]: { readonly name: Name; readonly about: Parameters<FrontDoorObserver[Name]> };
}[keyof FrontDoorObserver];

/** A message of the process of the front door. */
export type FromFrontDoor =
  | { readonly kind: 'listening'; readonly url: string }
  /** It cannot serve; `why` is one line for the operator. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'observed'; readonly event: FrontDoorEvent }
  /** Access tokens that ended before they expired, by their SHA-256 (base64url). */
  | { readonly kind: 'revoked'; readonly digests: readonly string[] }
  | { readonly kind: 'event'; readonly event: Parameters<LogStore> }
  | { readonly kind: 'bug'; readonly stack: string };

/** Set in the process that `serve` starts: it takes its configuration from messages. */
export const CHILD_VARIABLE = 'SALLYPORT_FRONT_DOOR_CHILD';
