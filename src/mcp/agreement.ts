import { type Members, ownMember } from '../core/lib/json/own-member.ts';
import type { Fields } from '../core/model/fields.ts';
import { Denial } from '../core/model/denial.ts';
import type { MessageId } from '../core/model/grant.ts';
import { revisions } from '../core/model/mcp.ts';
import type { Era, McpMethod } from '../core/model/mcp-method.ts';

/** The headers that repeat parts of a message. */
export type MessageHeaders = Pick<Fields, 'mcpMethod' | 'mcpName' | 'mcpProtocolVersion'>;

/** The parts of a message that headers repeat. */
export interface Repeated {
  readonly method: McpMethod;
  readonly id: MessageId;
  readonly params: Members;
  readonly isRequest: boolean;
}

const allVersions: readonly string[] = [...revisions.keys()];
const modernVersions: readonly string[] = allVersions.filter((version) => revisions.get(version) === 'modern');
const versionKey = 'io.modelcontextprotocol/protocolVersion';

/**
 * Determines the era of a message. Requires that the headers of a modern message agree with its body: a proxy that
 * routes, limits or logs by a header must not come to another conclusion than the upstream. The body decides. The
 * headers of a legacy message decide nothing, and the gateway does not compare them.
 *
 * @throws {Denial} with the id of the message, so that a client of both eras knows that the gateway understood this
 *   one: `message.header_mismatch` (-32020), `message.version` (-32022), `message.meta` (-32602), `message.method`
 *   (-32601).
 */
export function requireAgreement(headers: MessageHeaders, message: Repeated): Era {
  const { params, id, isRequest } = message;
  const claimed = claimedVersion(params, id);
  const named = headers.mcpProtocolVersion;
  if (isLegacy(named) && isLegacy(claimed)) return 'legacy';
  if (named !== undefined && claimed !== undefined && named !== claimed) throw otherVersion(named, claimed, id);
  const version = claimed ?? named;
  if (revisions.get(version ?? '') !== 'modern') throw unsupported(version ?? '', claimed === undefined, id);
  const { eras, opensSession } = message.method;
  if (claimed === undefined && opensSession) {
    throw mismatch('a legacy initialize with the header of a modern revision', id);
  }
  requireNoContradiction(headers, message);
  if (claimed === undefined && isRequest)
    throw new Denial('message.meta', `_meta lacks ${versionKey}`, { messageId: id });
  if (named === undefined && isRequest) throw otherVersion(named, claimed, id);
  if (isRequest) requirePresence(headers, message);
  if (eras === 'legacy')
    throw new Denial('message.method', `${version} has no ${message.method.name}`, { messageId: id });
  return 'modern';
}

function isLegacy(version: string | undefined): boolean {
  return version === undefined || revisions.get(version) === 'legacy';
}

function requireNoContradiction(headers: MessageHeaders, message: Repeated): void {
  const { method, id } = message;
  if (headers.mcpMethod !== undefined && headers.mcpMethod !== method.name) {
    throw mismatch(`Mcp-Method is ${quoted(headers.mcpMethod)}, the body says ${quoted(method.name)}`, id);
  }
  const value = repeatedName(message);
  if (headers.mcpName === undefined || value === undefined) return;
  const decoded = decodedValue(headers.mcpName.trim());
  if (decoded !== value) throw mismatch(`Mcp-Name is ${quoted(decoded)}, the body says ${quoted(value)}`, id);
}

function requirePresence(headers: MessageHeaders, message: Repeated): void {
  const { id } = message;
  if (headers.mcpMethod === undefined) throw mismatch('Mcp-Method is missing', id);
  if (headers.mcpName === undefined && repeatedName(message) !== undefined) throw mismatch('Mcp-Name is missing', id);
}

/**
 * What `Mcp-Name` repeats of a message: the name of its target, MCP 2026-07-28, Streamable HTTP §Standard Request
 * Headers; undefined where it repeats nothing.
 */
function repeatedName({ method, params }: Repeated): string | undefined {
  const { target, eras } = method;
  if (typeof target !== 'object' || eras === 'legacy') return undefined;
  const value = ownMember(params, target.parameter);
  return typeof value === 'string' ? value : undefined;
}

/** The version that `_meta` claims. A claim that is not a string agrees with no header. */
function claimedVersion(params: Members, id: MessageId): string | undefined {
  const version = ownMember(ownMember(params, '_meta'), versionKey);
  if (version === undefined || typeof version === 'string') return version;
  throw new Denial('message.meta', `${versionKey} is not a string`, { messageId: id });
}

/** The refusal of a message that a header contradicts. */
export function mismatch(detail: string, messageId: MessageId): Denial {
  return new Denial('message.header_mismatch', detail, { messageId });
}

function otherVersion(named: string | undefined, claimed: string | undefined, messageId: MessageId): Denial {
  return mismatch(`MCP-Protocol-Version is ${quoted(named)}, the body says ${quoted(claimed)}`, messageId);
}

/** A message that claims a version in `_meta` is a modern one, so that the answer offers modern versions alone. */
function unsupported(requested: string, knowsLegacy: boolean, messageId: MessageId): Denial {
  const supported = knowsLegacy ? allVersions : modernVersions;
  const data = { supported, requested: requested.slice(0, 64) };
  return new Denial('message.version', `protocol version ${quoted(requested)}`, { messageId, data });
}

function quoted(value: string | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value.slice(0, 64));
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The text of a field value, MCP 2026-07-28 §Value Encoding: the value itself, or `=?base64?…?=` over UTF-8; undefined
 * where that is not well-formed.
 */
export function decodedValue(value: string): string | undefined {
  // Without its suffix it is not encoded, and stands for itself.
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value)?.[1];
  if (encoded === undefined) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  // Buffer accepts what other decoders refuse.
  if (bytes.toString('base64') !== encoded) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The field value of a text: the text itself where a field can carry it, else its encoding. */
export function encodedValue(value: string): string {
  const isPlain = /^[!-~](?:[ -~]*[!-~])?$/.test(value) && !value.startsWith('=?base64?');
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
