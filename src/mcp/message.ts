import { parseToRewrite } from '../core/lib/json/lossless.ts';
import { memberText } from './splice-strings.ts';
import { isObject, type Members, ownMember, ownMemberAt } from '../core/lib/json/own-member.ts';
import {
  hasDuplicateMembers,
  JsonScanError,
  type ScanLimits,
  type ScanResult,
  scanJson,
} from '../core/lib/json/scanner.ts';
import type { TraceContext } from '../core/lib/http/trace.ts';
import { readTraceContext } from '../core/lib/http/trace-context.ts';
import { Denial } from '../core/model/denial.ts';
import type { MessageId } from '../core/model/grant.ts';
import { MAX_NAME_LENGTH, MAX_URI_LENGTH, mcpMethod, mistakenFor, noMethod } from '../core/model/mcp.ts';
import type { Era, McpMethod } from '../core/model/mcp-method.ts';
import type { McpTarget } from '../core/model/policy.ts';
import { type MessageHeaders, requireAgreement } from './agreement.ts';
import { type Handle, mayYieldHandle, presentedHandles, unambiguousMember } from './handles.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import { utf8Text } from './utf8.ts';

/** A JSON-RPC message, as a decision needs it. */
export interface Message {
  /** Without a name for a client's response to a request of the server. */
  readonly method: McpMethod;
  /** `null` for notifications and responses, which get no answer of their own. */
  readonly id: MessageId;
  readonly era: Era;
  /** What the message acts on. */
  readonly targets: readonly McpTarget[];
  /** `params.arguments`. */
  readonly arguments: unknown;
  /** The first member that calls with arguments do not have: `params.more`; undefined: none, or no such call. */
  readonly otherMember: string | undefined;
  /** Whether keys of an object in `arguments` differ in case only. The upstream may know them apart, or take one. */
  readonly hasArgumentVariants: boolean;
  /** Reads `arguments` with the digits of numbers; undefined where JavaScript changes none of them. */
  readonly exactArguments: (() => unknown) | undefined;
  /** The task ids and `requestState` that it presents. */
  readonly handles: readonly Handle[];
  /** Whether its answer may give out handles. */
  readonly mayYieldHandle: boolean;
  /** Whether the client declares the Tasks extension in this request, as in 2026-07-28. */
  readonly declaresTasks: boolean;
  /** Whether it may be answered `input_required`, and the client can send its user to a page (2026-07-28). */
  readonly asksByUrl: boolean;
  /** The trace that its `_meta` names (SEP-414); undefined where there is none or it is not valid. */
  readonly trace: TraceContext | undefined;
}

const tasksExtension = 'io.modelcontextprotocol/tasks';
/** The capability that a client must declare for tasks: the `data` of a -32021. */
export const tasksRequired = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } };
/** Where a request declares it. Each request declares it for itself alone. */
const declaredTasks = ['_meta', 'io.modelcontextprotocol/clientCapabilities', 'extensions', tasksExtension];

/** Where a request declares that its client opens pages for its user. */
const declaredUrl = ['_meta', 'io.modelcontextprotocol/clientCapabilities', 'elicitation', 'url'];

/** Bounds on the JSON of a message. */
export type MessageLimits = Pick<ScanLimits, 'depth' | 'members'>;

const keyLimits = { keyLength: 1_024, foldedKeys: 65_536 };

/** The keys of gateway.yaml that set them. */
const limitKeys: Readonly<Record<string, string>> = { depth: 'limits.json_depth', members: 'limits.json_members' };

/**
 * Reads one JSON-RPC 2.0 message of MCP Streamable HTTP: one object that every parser reads alike and that the headers
 * do not contradict.
 *
 * @throws {Denial} `body.malformed` for text that is not UTF-8 JSON; `body.ambiguous` for duplicate keys, for
 *   case-variant ones outside the `arguments` of a method that has them, another spelling of an MCP method, and too
 *   much depth or too many members; `body.message` for anything but one JSON-RPC message, batches included, and for
 *   `arguments` that are not an object; `message.*` for headers that contradict it.
 */
export function readMessage(body: Buffer, headers: MessageHeaders, limits: MessageLimits): Message {
  const text = decode(body);
  const { message, hasVariants, hasLongNumbers } = parse(text, limits);
  if (!isObject(message)) throw new Denial('body.message', 'not one JSON object: a batch, or another value');
  const id = messageId(message, text);
  if (unambiguousMember(message, 'jsonrpc', id) !== '2.0')
    throw new Denial('body.message', 'jsonrpc is not "2.0"', { messageId: id });
  const method = methodOf(message, id);
  if (hasVariants && !method.hasArguments)
    throw new Denial('body.ambiguous', 'keys that differ only in case', { messageId: id });
  const params = paramsOf(message, id);
  const isRequest = method.name !== undefined && Object.hasOwn(message, 'id');
  const era = requireAgreement(headers, { method, id, params, isRequest });
  const handles = presentedHandles(method, message, id);
  return {
    method,
    id: method.name === undefined ? null : id,
    era,
    targets: targetsOf(method, params, id),
    arguments: argumentsOf(method, params, id),
    otherMember: method.hasArguments ? otherMemberIn(message, params) : undefined,
    hasArgumentVariants: hasVariants,
    exactArguments: hasLongNumbers && method.hasArguments ? exactArgumentsIn(text) : undefined,
    handles,
    declaresTasks: ownMemberAt(params, declaredTasks) !== undefined,
    asksByUrl: era === 'modern' && method.mayNeedInput && ownMemberAt(params, declaredUrl) !== undefined,
    mayYieldHandle: mayYieldHandle(method, params, era, handles),
    trace: traceOf(params['_meta']),
  };
}

const messageMembers = new Set(['jsonrpc', 'id', 'method', 'params']);
/** Of `tools/call`, in every revision with tasks and input requests. */
const callMembers = new Set(['name', 'arguments', '_meta', 'task', 'requestState', 'inputResponses']);

function otherMemberIn(message: Members, params: Members): string | undefined {
  for (const key in message) if (!messageMembers.has(key)) return key;
  for (const key in params) if (!callMembers.has(key)) return `params.${key}`;
  return undefined;
}

function decode(body: Buffer): string {
  const text = utf8Text(body);
  if (text === undefined) throw new Denial('body.malformed', 'not UTF-8');
  return text;
}

const argumentsPath = ['params', 'arguments'];

function parse(text: string, limits: MessageLimits): ScanResult & { readonly message: unknown } {
  try {
    const scanned = scanJson(text, { ...limits, ...keyLimits }, argumentsPath);
    const message: unknown = JSON.parse(text);
    if (scanned.hasVariants && hasDuplicateMembers(text, message))
      throw new JsonScanError('ambiguous', 'a duplicate key', 0);
    return { message, ...scanned };
  } catch (error) {
    if (!(error instanceof JsonScanError)) throw error;
    const key = error.limit && limitKeys[error.limit];
    const detail = key === undefined ? error.message : `${error.message}: ${key} allows no more`;
    throw new Denial(error.kind === 'ambiguous' ? 'body.ambiguous' : 'body.malformed', detail);
  }
}

/** The text is read again once, if a condition asks. */
function exactArgumentsIn(text: string): () => unknown {
  let read: { readonly value: unknown } | undefined;
  return () => (read ??= { value: ownMemberAt(parseToRewrite(text), argumentsPath) }).value;
}

/** To compare names as lenient servers do takes longer the longer they are. */
function requireLength(what: string, text: string, most: number, messageId: MessageId): void {
  if (text.length > most) throw new Denial('body.message', `a ${what} of more than ${most} characters`, { messageId });
}

/** MCP, Base Protocol: a request's id MUST be a string or integer and MUST NOT be null. */
function messageId(message: Members, text: string): MessageId {
  const id = unambiguousMember(message, 'id', null);
  if (id === undefined) return null;
  if (typeof id === 'string') return id;
  if (typeof id !== 'number') throw new Denial('body.message', 'id is neither a string nor a number');
  return Number.isSafeInteger(id) ? id : (parseToRewrite(memberText(text, 'id') ?? '') as number | object);
}

function methodOf(message: Members, messageId: MessageId): McpMethod {
  const method = unambiguousMember(message, 'method', messageId);
  const answers =
    unambiguousMember(message, 'result', messageId) !== undefined ||
    unambiguousMember(message, 'error', messageId) !== undefined;
  if (method !== undefined && answers)
    throw new Denial('body.message', 'a request and a response in one message', { messageId });
  if (typeof method === 'string') {
    requireLength('method', method, MAX_NAME_LENGTH, messageId);
    const meant = mistakenFor(method);
    if (meant === undefined) return mcpMethod(method);
    throw new Denial('body.ambiguous', `a method that some servers read as ${meant}`, { messageId });
  }
  if (answers) return noMethod;
  throw new Denial('body.message', 'neither a request nor a response', { messageId });
}

const noParams = Object.freeze({});

/** JSON-RPC 2.0 §4.2 allows lists too; MCP has objects only. Serializers write null for what is absent. */
function paramsOf(message: Members, messageId: MessageId): Members {
  const params = unambiguousMember(message, 'params', messageId);
  if (params === undefined || params === null) return noParams;
  if (isObject(params)) return params;
  throw new Denial('body.message', 'params is not an object', { messageId });
}

/**
 * MCP: an object, or absent, for which null stands too. Some servers parse a string that holds one, and would see what
 * no policy has seen.
 */
function argumentsOf({ hasArguments }: McpMethod, params: Members, messageId: MessageId): unknown {
  const found = unambiguousMember(params, 'arguments', messageId) ?? undefined;
  if (!hasArguments || found === undefined || isObject(found)) return found;
  throw new Denial('body.message', 'params.arguments is not an object', { messageId });
}

function traceOf(meta: unknown): TraceContext | undefined {
  if (!isObject(meta)) return undefined;
  const { traceparent, tracestate } = meta;
  if (typeof traceparent !== 'string') return undefined;
  return readTraceContext(traceparent, typeof tracestate === 'string' ? tracestate : undefined);
}

/** The policy decides on each. */
const MAX_SUBSCRIPTIONS = 100;

/**
 * What a message acts on, so that a policy can decide: one tool, prompt or resource; what a completion refers to
 * (`completion/complete`); every resource that a `subscriptions/listen` subscribes to.
 *
 * @throws {Denial} `body.message` where the member that names it is missing or of another type: upstreams differ in
 *   what they make of that.
 */
export function targetsOf(method: McpMethod, params: Members, messageId: MessageId): readonly McpTarget[] {
  const targets = namedTargets(method, params, messageId);
  for (const { kind, name } of targets) {
    const isUri = kind === 'resource' || kind === 'template';
    requireLength(isUri ? 'URI' : `name of a ${kind}`, name, isUri ? MAX_URI_LENGTH : MAX_NAME_LENGTH, messageId);
  }
  // In C a string ends at a NUL: a pattern that covers `pay\u0000_read` would let `pay` through.
  if (targets.some(({ name }) => name.includes('\0')))
    throw new Denial('body.ambiguous', `${method.name} of a name with a NUL`, { messageId });
  return targets;
}

function namedTargets(method: McpMethod, params: Members, messageId: MessageId): readonly McpTarget[] {
  const { target } = method;
  if (target === 'reference') return [reference(params, method, messageId)];
  if (target === 'subscriptions') return subscriptions(params, messageId);
  // The handle of a task is bound to its caller; no policy names it.
  if (target === undefined || target.kind === 'task') return [];
  return [{ kind: target.kind, name: text(params, target.parameter, method, messageId) }];
}

function text(params: Members, parameter: string, { name }: McpMethod, messageId: MessageId): string {
  const value = ownMember(params, parameter);
  if (typeof value === 'string') return value;
  throw new Denial('body.message', `${name} without params.${parameter}`, { messageId });
}

function reference(params: Members, method: McpMethod, messageId: MessageId): McpTarget {
  const ref = params['ref'];
  if (isObject(ref)) {
    const { type, name, uri } = ref;
    if (type === 'ref/prompt' && typeof name === 'string') return { kind: 'prompt', name };
    if (type === 'ref/resource' && typeof uri === 'string')
      return { kind: uri.includes('{') ? 'template' : 'resource', name: uri };
  }
  throw new Denial('body.message', `${method.name} without a ref to a prompt or a resource`, { messageId });
}

/** MCP 2026-07-28: of the notifications that a client asks for, only `resourceSubscriptions` name anything. */
function subscriptions(params: Members, messageId: MessageId): readonly McpTarget[] {
  const notifications = unambiguousMember(params, 'notifications', messageId);
  if (notifications === undefined || notifications === null) return [];
  // Some servers parse a text that holds an object.
  if (!isObject(notifications)) throw new Denial('body.message', 'notifications is not an object', { messageId });
  const uris = unambiguousMember(notifications, 'resourceSubscriptions', messageId);
  if (uris === undefined) return [];
  if (!Array.isArray(uris) || !uris.every((uri) => typeof uri === 'string')) {
    throw new Denial('body.message', 'resourceSubscriptions is not a list of strings', { messageId });
  }
  if (uris.length > MAX_SUBSCRIPTIONS)
    throw new Denial('body.message', `more than ${MAX_SUBSCRIPTIONS} subscriptions`, { messageId });
  return uris.map((name) => ({ kind: 'resource', name }));
}

/**
 * What an answer says of its call. `failed`: a JSON-RPC error, or a tool result with `isError`. `waiting`: the server
 * needs input of the client, and answers in another round. `task`: the result will follow.
 */
export type AnswerOutcome = 'answered' | 'failed' | 'waiting' | 'task';

/** Whether a message, or bytes with several, may be the answer to a request: progress and logs are not even parsed. */
export function mayBeAnswer(message: Buffer | string): boolean {
  return message.includes('"result"') || message.includes('"error"');
}

/**
 * What the answer to a request says of its outcome; undefined for any other message, and for an answer that parsers
 * read differently.
 *
 * @param id The id of the request. One that JavaScript cannot represent matches any answer.
 * @param method Of the request. A request for a task has the outcome of the call that created the task.
 */
export function answerOutcome(text: string, id: MessageId, { fetches }: McpMethod): AnswerOutcome | undefined {
  const message = parsedJson(text);
  // A server of 2025-03-26 may answer a single request by a batch of one.
  const [answer, second] = (Array.isArray(message) ? message : [message]).filter((each) => isAnswerTo(each, id));
  if (answer === undefined) return undefined;
  const result = ownMember(answer, 'result');
  const isUnclear = second !== undefined || (isObject(result) && isObject(ownMember(answer, 'error')));
  // A client may read it as a success, where the gateway reads an error, or the other way round.
  if (isUnclear || hasDuplicateMembers(text, message)) return undefined;
  if (!isObject(result)) return 'failed';
  return fetches === 'task' ? outcomeOfTask(result) : outcomeOfResult(result);
}

function isAnswerTo(message: unknown, id: MessageId): message is Members {
  if (id === null || !isObject(message) || ownMember(message, 'method') !== undefined) return false;
  const answered = ownMember(message, 'id');
  return answered === id || typeof id === 'object';
}

function outcomeOfResult(result: Members): AnswerOutcome {
  if (ownMember(result, 'isError') === true) return 'failed';
  const type = ownMember(result, 'resultType');
  if (type === 'input_required') return 'waiting';
  // SEP-2663, and 2025-11-25 §Tasks.
  return type === 'task' || isObject(ownMember(result, 'task')) ? 'task' : 'answered';
}

function outcomeOfTask(task: Members): AnswerOutcome {
  const result = ownMember(task, 'result');
  return isObject(result) && ownMember(task, 'status') === 'completed' ? outcomeOfResult(result) : 'task';
}
