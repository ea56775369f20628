import { JsonScanError, scanJson } from '../lib/json-scanner.ts';
import { Denial } from '../model/denial.ts';
import type { MessageId } from '../model/grant.ts';

/** What a decision needs of one JSON-RPC message. */
export interface Message {
  /** Undefined for a client's response to a request of the server. */
  readonly method: string | undefined;
  /** `null` for notifications and responses, which get no answer of their own. */
  readonly id: MessageId;
  /** `params.name` of `tools/call`. */
  readonly tool: string | undefined;
}

const limits = { depth: 128, members: 10_000 };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads one JSON-RPC 2.0 message of MCP Streamable HTTP: one object, that every parser reads alike.
 *
 * @throws {Denial} `body.malformed` for what is not UTF-8 JSON; `body.ambiguous` for duplicate or case-variant keys and
 *   for excess; `body.message` for what is no single JSON-RPC message, batches among them.
 */
export function readMessage(body: Buffer): Message {
  const message = parse(body);
  if (Array.isArray(message)) throw new Denial('body.message', 'a batch');
  if (!isObject(message)) throw new Denial('body.message', 'not an object');
  if (message['jsonrpc'] !== '2.0') throw new Denial('body.message', 'jsonrpc is not "2.0"');
  const id = messageId(message);
  const method = message['method'];
  if (method === undefined) {
    if (!Object.hasOwn(message, 'result') && !Object.hasOwn(message, 'error')) {
      throw new Denial('body.message', 'neither a request nor a response');
    }
    return { method, id: null, tool: undefined };
  }
  if (typeof method !== 'string') throw new Denial('body.message', 'method is not a string');
  return { method, id, tool: method === 'tools/call' ? toolName(message['params']) : undefined };
}

function parse(body: Buffer): unknown {
  let text: string;
  try {
    text = utf8.decode(body);
  } catch (cause) {
    throw new Denial('body.malformed', 'not UTF-8', { cause });
  }
  try {
    scanJson(text, limits);
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof JsonScanError)) throw error;
    throw new Denial(error.kind === 'ambiguous' ? 'body.ambiguous' : 'body.malformed', error.message, { cause: error });
  }
}

/** MCP, Base Protocol: a request's id MUST be a string or integer and MUST NOT be null. */
function messageId(message: Record<string, unknown>): MessageId {
  const id = message['id'];
  if (id === undefined) return null;
  if (typeof id === 'string' || typeof id === 'number') return id;
  throw new Denial('body.message', 'id is neither a string nor a number');
}

function toolName(params: unknown): string {
  const name = isObject(params) ? params['name'] : undefined;
  if (typeof name === 'string') return name;
  throw new Denial('body.message', 'tools/call without params.name');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
