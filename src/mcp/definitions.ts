/**
 * Locked tools: the definitions of an MCP server that an operator approved, `docs/locked-tools.md`.
 *
 * @module
 */

import { Slot } from '../core/model/slot.ts';
import type { LockedKind } from '../core/model/mcp.ts';

/** A kind of definitions that a lock covers. A server has one text of instructions, without a name. */
export type DefinitionKind = LockedKind | 'instructions';

/** A definition, by its digests. */
export interface Definition {
  readonly kind: DefinitionKind;
  /** As the server writes it; `''` for instructions. */
  readonly name: string;
  /** The SHA-256, in hex, of the canonical text (RFC 8785) of what is locked of it; `''` without a canonical text. */
  readonly sha256: string;
  /** The beginning of the digest of each member, so that messages can name the members that changed. */
  readonly members: Readonly<Record<string, string>>;
  /** Of a tool that was just read, as JSON.parse returned them; they are kept only for `calls: strict`. */
  readonly schemas?: { readonly input: unknown; readonly output: unknown } | undefined;
}

/** A definition with its description, for people. */
export interface DescribedDefinition extends Definition {
  /** As the server wrote it, of any length; `''` without one. */
  readonly description: string;
  /** The server shows it only to clients that declare capabilities, such as sampling. */
  readonly needsCapabilities?: true;
}

/** Definitions by {@link definitionKey}. */
export type Definitions = ReadonlyMap<string, Definition>;

/** The approved definitions of a route: an approval of a call ends when that of its target changes. */
export const approvedDefinitions = new Slot<Definitions>();

/** The difference between a definition and what was approved. */
export interface ChangedDefinition {
  readonly kind: DefinitionKind;
  readonly name: string;
  /** `twice`: it stands more than once in one list. `gone`: no list has it, which refuses nothing. */
  readonly difference: 'changed' | 'new' | 'twice' | 'gone';
  /** The members that differ, where they are known; empty for the others. */
  readonly members: readonly string[];
  /** Why its schemas cannot be used, `calls: strict`. */
  readonly fault?: string;
}

/** The lock of a route, for the console. */
export interface LockState {
  readonly route: string;
  readonly mode: 'deny' | 'report';
  /** When the gateway last asked the server with success, in milliseconds since the epoch. */
  readonly comparedAt: number | undefined;
  /** Why the newest question failed; undefined if it did not. */
  readonly fault: string | undefined;
  /** How many definitions differ. */
  readonly count: number;
  /** Those that differ, or the first of them. */
  readonly differing: readonly ChangedDefinition[];
}

/** The key of a definition among others. */
export function definitionKey({ kind, name }: Pick<Definition, 'kind' | 'name'>): string {
  return `${kind} ${name}`;
}
