import type { AnswerChanges, AnswerFilter, BodyFilter } from '../core/gateway/forward/answer-messages.ts';
import type { ResponseHeaders } from '../core/gateway/forward/response-headers.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import { Denial } from '../core/model/denial.ts';
import type { Events, ShownList } from '../core/model/events.ts';
import type { AnswerPart } from '../core/model/on-route.ts';
import type { Action, AskAboutList, Grant, GrantedCall } from '../core/model/grant.ts';
import type { CallOutcome, CountedCall } from '../core/model/history.ts';
import { noMethod } from '../core/model/mcp.ts';
import { calledTool, type McpTarget } from '../core/model/policy.ts';
import type { Route } from '../core/model/route.ts';
import { AskedList, Asking } from './asked-list.ts';
import type { Bindings } from './bindings.ts';
import { createDroppingFilter, JsonFilter, createUnreadableFilter, type Rewriting } from './body-filter.ts';
import { EventFilter } from './event-filter.ts';
import { EventIdFilter } from './event-id-filter.ts';
import { mayGiveHandle } from './handles.ts';
import { filteredMessage, listedTargets, mayListTasks, withoutTasks } from './lists.ts';
import { answerOutcome, type AnswerOutcome, mayBeAnswer } from './message.ts';
import { createPrivateFilter } from './private-filter.ts';
import type { ToolHeaders } from './tool-headers.ts';

/** The bindings that an answer meets. */
type AnswerBindings = Pick<Bindings, 'giveHandles' | 'giveEventIds'>;

/** The parts of a filter that its route gives. */
export interface FilterParts {
  readonly bindings: AnswerBindings;
  /** Of the route's upstream. */
  readonly toolHeaders: ToolHeaders;
  /** What capabilities do with every answer. */
  readonly answers: readonly AnswerPart[];
  /** Undefined if the route has no decision point. */
  readonly askAboutList: AskAboutList | undefined;
  /** Called for each list of which entries are withheld; undefined: for none. */
  readonly onWithheld?: Events['listed'] | undefined;
}

/**
 * The changes that the answer to a call may need: lists, handles, or both in a resumed stream; its scope in caches; and
 * the event ids in a stream that can be resumed. The gateway neither reads nor holds most answers, which may be
 * compressed.
 */
export function answerFilter(
  route: Route,
  granted: Pick<GrantedCall, 'call' | 'grant' | 'counted'>,
  { bindings, toolHeaders, answers, askAboutList, onWithheld }: FilterParts,
): AnswerFilter {
  const { grant, counted } = granted;
  const { attempt } = grant.action;
  const listsTools = attempt.kind === 'mcp' && attempt.method.list?.kind === 'tool';
  const filtersLists = mayHoldList(route, grant);
  const visible = filtersLists ? visibleTo(grant, route) : undefined;
  const asked = visible && askAboutList && new AskedList(granted, visible, askAboutList);
  const lists =
    visible &&
    new VisibleLists(
      asked === undefined ? visible : (target) => asked.allows(target),
      listsTools ? toolHeaders : undefined,
    );
  const report =
    onWithheld &&
    ((list: Omit<ShownList, 'method'>) =>
      onWithheld(granted.call, route, { ...list, method: attempt.kind === 'mcp' ? attempt.method.name : undefined }));
  const readings: Rewriting[] = [];
  let guard: Rewriting | undefined;
  for (const part of answers) {
    const taken = taking(part, grant.action, counted);
    if (part.does === 'guards') guard = both(guard, taken);
    else readings.push(taken);
  }
  const judges = answers.map((part) => part.judges).filter((judge) => judge !== undefined);
  const origin = { counted: counted?.id, tool: judges.length > 0 ? calledTool(attempt) : undefined };
  const bind = (text: string): string | undefined => bindings.giveHandles(text, grant, origin);
  // What is judged is read, however long it is.
  const passesUnread = judges.some((judge) => judge(grant.action)) ? undefined : unreadId(grant.action);
  const withholds = guard !== undefined || lists !== undefined;
  const shown = withholds && report ? new Reported(guard, lists, visible, report) : both(guard, lists);
  const handles = grant.action.mayYieldHandle ? handleRewriting(bind) : undefined;
  const rewriting = both(both(shown, taskListRewriting(grant)), handles);
  const becomesPrivate = mayBePublic(route, grant, askAboutList !== undefined);
  const rewrites = rewriting !== undefined || becomesPrivate;
  return {
    rewrites,
    acceptEncoding:
      rewrites || listsTools || answers.length > 0 || counted !== undefined || mayBeResumed(grant)
        ? 'identity'
        : undefined,
    ofErrors: guard && errorChanges(guard, grant.action),
    choose(answer, status) {
      if (becomesPrivate && answer.isEncoded) return createUnreadableFilter();
      let filter: BodyFilter | undefined;
      if (listsTools && !filtersLists) filter = reading(answer, toolHeadersRewriting(toolHeaders));
      for (const each of readings) filter = inTurn(filter, reading(answer, each));
      if (rewriting !== undefined)
        filter = inTurn(filter, filterOf(answer, status, rewriting, isAnswerTo(grant.action), passesUnread));
      // Behind what may refuse the answer. It holds JSON to its end: a client must not have all of an answer that has
      // not settled its call.
      if (counted !== undefined) filter = inTurn(filter, filterOf(answer, 200, outcomeReading(grant.action, counted)));
      if (becomesPrivate) filter = inTurn(filter, createPrivateFilter(answer.isEventStream));
      // MCP 2026-07-28 resumes no stream: the gateway drops `Last-Event-ID`, and an id gives no access.
      if (answer.isEventStream && !answer.isEncoded && grant.action.era === 'legacy') {
        const bindId = bindings.giveEventIds(grant, answer.sessionId ?? grant.action.sessionId, judges.length > 0);
        filter = inTurn(filter, new EventIdFilter(bindId));
      }
      const reader = asked && filterOf(answer, status, asked.reading);
      return filter && asked && reader ? new Asking(filter, (chunk) => asked.ask(reader, chunk)) : filter;
    },
  };
}

/** Whether a cache might serve the result to a caller for whom policy or decision point decides differently. */
function mayBePublic({ policy }: Route, { action: { attempt, era } }: Grant, isAsked: boolean): boolean {
  if ((policy?.distinguishesCallers !== true && !isAsked) || attempt.kind !== 'mcp' || era !== 'modern') return false;
  return attempt.method.isCacheable;
}

function toolHeadersRewriting(toolHeaders: ToolHeaders): Rewriting {
  return {
    concerns: (list) => toolHeaders.concerns(list),
    rewrite(text) {
      toolHeaders.learn(parsedJson(text));
      return undefined;
    },
    mustRead: false,
  };
}

/** Shows a capability every message: a client takes a list from any answer on any stream. */
function taking(part: AnswerPart, action: Action, counted: CountedCall | undefined): Rewriting {
  return {
    concerns: () => true,
    rewrite(text) {
      try {
        return part.take(text, action);
      } catch (error) {
        // The client gets this error in place of the result.
        if (error instanceof Denial && error.messageId === action.messageId && error.messageId !== null)
          counted?.settle('returned', 'the gateway refused the answer');
        throw error;
      }
    },
    mustRead: part.does === 'guards',
  };
}

/** An error holds no list, and some clients read one from it all the same. */
function errorChanges(guard: Rewriting, action: Action): AnswerChanges {
  return {
    rewrites: true,
    choose: (answer, status) =>
      answer.isJson || answer.isEventStream ? filterOf(answer, status, guard, isAnswerTo(action)) : undefined,
  };
}

/** Whether a message answers the request of an action; undefined if the action gets no answer. */
function isAnswerTo({ messageId }: Action): ((text: string) => boolean) | undefined {
  if (messageId === null) return undefined;
  // The method decides which outcome an answer has, and not whether it has one.
  return (text) => mayBeAnswer(text) && answerOutcome(text, messageId, noMethod) !== undefined;
}

/** The id of a request whose answer holds no list, as that of `tools/call`; undefined for any other request. */
function unreadId({ attempt, messageId }: Action): string | number | undefined {
  const holdsNoList = attempt.kind === 'mcp' && attempt.method.allowedBy === 'target';
  return holdsNoList && typeof messageId !== 'object' ? messageId : undefined;
}

/** Passes an answer on unchanged while it is read; undefined if it cannot be read. */
function reading(answer: ResponseHeaders, rewriting: Rewriting): BodyFilter | undefined {
  const reader = filterOf(answer, 200, rewriting);
  return reader && new Reading(reader);
}

class Reading implements BodyFilter {
  readonly #reader: BodyFilter;

  constructor(reader: BodyFilter) {
    this.#reader = reader;
  }

  push(chunk: Buffer): readonly Buffer[] {
    this.#reader.push(chunk);
    return [chunk];
  }

  end(): readonly Buffer[] {
    this.#reader.end();
    return [];
  }
}

class InTurn implements BodyFilter {
  readonly #first: BodyFilter;
  readonly #second: BodyFilter;

  constructor(first: BodyFilter, second: BodyFilter) {
    this.#first = first;
    this.#second = second;
  }

  push(chunk: Buffer): readonly Buffer[] {
    return this.#throughSecond(this.#first.push(chunk));
  }

  end(): readonly Buffer[] {
    return [...this.#throughSecond(this.#first.end()), ...this.#second.end()];
  }

  #throughSecond(parts: readonly Buffer[]): readonly Buffer[] {
    return parts.flatMap((part) => this.#second.push(part));
  }
}

/** In a session a client may resume a broken stream, by the id of its last event. */
function mayBeResumed({ action: { era, sessionId, attempt } }: Grant): boolean {
  return sessionId !== undefined || (era === 'legacy' && attempt.kind === 'mcp' && attempt.method.opensSession);
}

function inTurn(first: BodyFilter | undefined, second: BodyFilter | undefined): BodyFilter | undefined {
  return first === undefined || second === undefined ? (first ?? second) : new InTurn(first, second);
}

function both(first: Rewriting | undefined, second: Rewriting | undefined): Rewriting | undefined {
  return first === undefined || second === undefined ? (first ?? second) : new Both(first, second);
}

class Both implements Rewriting {
  readonly mustRead: boolean;
  readonly #first: Rewriting;
  readonly #second: Rewriting;

  constructor(first: Rewriting, second: Rewriting) {
    this.#first = first;
    this.#second = second;
    this.mustRead = first.mustRead || second.mustRead;
  }

  concerns(part: Buffer | string): boolean {
    return this.#first.concerns(part) || this.#second.concerns(part);
  }

  rewrite(text: string): string | undefined {
    const once = this.#first.concerns(text) ? this.#first.rewrite(text) : undefined;
    const current = once ?? text;
    return (this.#second.concerns(current) ? this.#second.rewrite(current) : undefined) ?? once;
  }
}

function filterOf(
  answer: ResponseHeaders,
  status: number,
  rewriting: Rewriting,
  isAnswer?: (text: string) => boolean,
  answerId?: string | number,
): BodyFilter | undefined {
  if (!answer.isEncoded && answer.isEventStream) return new EventFilter(rewriting, isAnswer, answerId);
  if (!answer.isEncoded && answer.isJson) return new JsonFilter(rewriting);
  if (!rewriting.mustRead) return undefined;
  // Streamable HTTP: a 202 has no body. Servers of HTTP+SSE say "Accepted" in it.
  return status === 202 ? createDroppingFilter() : createUnreadableFilter();
}

function mayHoldList(route: Route, { action: { attempt } }: Grant): boolean {
  if (route.policy?.lists !== 'filter' || attempt.kind !== 'mcp') return false;
  // Legacy revisions: any GET may resume a broken stream.
  return attempt.method.name === undefined || attempt.method.list !== undefined;
}

/**
 * Removes the tasks from an answer that may list them; undefined for other answers. Only the answer to `tasks/list`
 * must be readable: elsewhere the ids of other callers' tasks remain the upstream's own, which the gateway does not
 * accept.
 */
function taskListRewriting({ action: { attempt } }: Grant): Rewriting | undefined {
  if (attempt.kind !== 'mcp') return undefined;
  const { name, isTask, list } = attempt.method;
  if (name !== undefined && !isTask) return undefined;
  return list === undefined ? otherTasks : taskList;
}

const taskList: Rewriting = { concerns: () => true, rewrite: withoutTasks, mustRead: true };

const otherTasks: Rewriting = {
  concerns: mayListTasks,
  rewrite(text) {
    try {
      return withoutTasks(text);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return undefined;
    }
  },
  mustRead: false,
};

function visibleTo({ principal }: Grant, { policy }: Route): (target: McpTarget) => boolean {
  if (policy === undefined || principal === undefined)
    throw new TypeError('a list to filter, without policy or principal');
  return (target) => policy.couldCall(principal, target);
}

class VisibleLists implements Rewriting {
  readonly mustRead = true;
  readonly #isVisible: (target: McpTarget) => boolean;
  readonly #toolHeaders: ToolHeaders | undefined;

  /** @param toolHeaders Learns the headers of all tools: another caller may call one that is hidden from this one. */
  constructor(isVisible: (target: McpTarget) => boolean, toolHeaders: ToolHeaders | undefined) {
    this.#isVisible = isVisible;
    this.#toolHeaders = toolHeaders;
  }

  concerns(): boolean {
    return true;
  }

  rewrite(text: string): string | undefined {
    const toolHeaders = this.#toolHeaders;
    return toolHeaders?.concerns(text) === true
      ? filteredMessage(text, this.#isVisible, (message) => toolHeaders.learn(message))
      : filteredMessage(text, this.#isVisible);
  }
}

/**
 * Guard and lists, one after the other, which both must read all messages. It reports what of the lists in a message
 * the caller does not get.
 */
class Reported implements Rewriting {
  readonly mustRead = true;
  readonly #guard: Rewriting | undefined;
  readonly #lists: Rewriting | undefined;
  readonly #isVisible: ((target: McpTarget) => boolean) | undefined;
  readonly #report: (list: Omit<ShownList, 'method'>) => void;

  constructor(
    guard: Rewriting | undefined,
    lists: Rewriting | undefined,
    isVisible: ((target: McpTarget) => boolean) | undefined,
    report: (list: Omit<ShownList, 'method'>) => void,
  ) {
    this.#guard = guard;
    this.#lists = lists;
    this.#isVisible = isVisible;
    this.#report = report;
  }

  concerns(): boolean {
    return true;
  }

  rewrite(text: string): string | undefined {
    const guarded = this.#guard?.rewrite(text);
    const listed = this.#lists?.rewrite(guarded ?? text);
    if (guarded === undefined && listed === undefined) return undefined;
    this.#compare(listedTargets(text), guarded, listed);
    return listed ?? guarded;
  }

  #compare(before: readonly McpTarget[], guarded: string | undefined, listed: string | undefined): void {
    const afterGuard = guarded === undefined ? before : listedTargets(guarded);
    const shown = listed === undefined ? afterGuard : listedTargets(listed);
    if (shown.length === before.length) return;
    const byLists = without(afterGuard, shown);
    const isVisible = this.#isVisible;
    const hidden = byLists.filter((target) => isVisible?.(target) === false);
    const by: string[] = [];
    if (hidden.length > 0) by.push('policy');
    if (afterGuard.length < before.length) by.push('lock');
    if (byLists.length > hidden.length) by.push('decision_point');
    const lacking = without(before, shown);
    const withheld = lacking.slice(0, MAX_WITHHELD).map(({ name }) => name.slice(0, MAX_NAME));
    this.#report({ shown: shown.length, withheld, more: lacking.length - withheld.length, by });
  }
}

/** The most names of withheld entries in a report, and their longest length in UTF-16 code units. */
const MAX_WITHHELD = 64;
const MAX_NAME = 128;

/** The targets that were taken away. The others are left in their order. */
function without(targets: readonly McpTarget[], others: readonly McpTarget[]): readonly McpTarget[] {
  let at = 0;
  return targets.filter(({ kind, name }) => {
    const other = others[at];
    if (other?.name !== name || other.kind !== kind) return true;
    at += 1;
    return false;
  });
}

/** Binds the handles of an answer. An answer that cannot be read may pass: the gateway accepts no unbound handle. */
function handleRewriting(bind: Rewriting['rewrite']): Rewriting {
  return { concerns: mayGiveHandle, rewrite: bind, mustRead: false };
}

const settlements: Readonly<Record<AnswerOutcome, CallOutcome>> = {
  answered: 'answered',
  failed: 'returned',
  waiting: 'waiting',
  task: 'task',
};

/** Settles a counted call by its answer, and changes nothing. A call whose answer is not found stays counted. */
export function outcomeReading({ attempt, messageId }: Action, counted: CountedCall): Rewriting {
  const method = attempt.kind === 'mcp' ? attempt.method : noMethod;
  return {
    concerns: mayBeAnswer,
    rewrite(text) {
      const outcome = answerOutcome(text, messageId, method);
      if (outcome !== undefined) counted.settle(settlements[outcome], 'the upstream answered with an error');
      return undefined;
    },
    mustRead: false,
  };
}
