/**
 * MCP on the routes that speak it: loaded with the first configuration that has one.
 *
 * @module
 */

import type { AnswerMessages } from '../core/gateway/forward/answer-messages.ts';
import type { Clock } from '../core/lib/clock.ts';
import type { Call } from '../core/model/call.ts';
import type { Grant } from '../core/model/grant.ts';
import type { Route } from '../core/model/route.ts';
import { createActionReader, type ReadAction } from './action.ts';
import { answerFilter, type FilterParts } from './answer-filter.ts';
import { Bindings, createOwnerBound, HandleBinding, type OwnerBound } from './bindings.ts';
import { refusalEvent, subscriptionEnd } from './body-filter.ts';
import type { MessageLimits } from './message.ts';
import { createToolHeaderMemory, type ToolHeaders } from './tool-headers.ts';

/** The parts of a gateway that reading a message needs. */
interface Reading {
  /** Reads a whole body within the configured limit. */
  readonly readBody: (call: Call) => Promise<Buffer>;
  readonly limits: MessageLimits;
}

/** Opens MCP on one route. */
export type OpenMcpRoute = (route: Route, reading: Reading) => McpRoute;

/** Creates MCP for a process, which learns the headers of tools. The key of a configuration binds its handles. */
export function createMcp(clock: Clock, uuid: () => string): (key: string | Buffer) => OpenMcpRoute {
  const toolHeadersOf = createToolHeaderMemory();
  return (key) => {
    const sessions = createOwnerBound(key);
    const handles = new HandleBinding(sessions, clock);
    // Accepts no session and no task: the gateway binds them in answers, and a proxy that asks does not show these.
    const unknown: OwnerBound = { ...sessions, unbind: () => undefined };
    const unknownHandles = new HandleBinding(unknown, clock);
    return (route, reading) =>
      new McpRoute(route, {
        ...reading,
        bindings: new Bindings(route, { sessions, handles, uuid }),
        unknown: new Bindings(route, { sessions: unknown, handles: unknownHandles, uuid }),
        toolHeaders: toolHeadersOf(route.upstream.origin + route.upstream.path),
      });
  };
}

interface McpRouteParts extends Reading {
  readonly bindings: Bindings;
  /** Those of callers whose sessions and handles are not known. */
  readonly unknown: Bindings;
  readonly toolHeaders: ToolHeaders;
}

/** MCP on one route. */
export class McpRoute {
  /** Reads a call of a client. */
  readonly readAction: ReadAction;
  /** Reads a call that a proxy asks about: it can present neither a session nor a handle. */
  readonly readQuestion: ReadAction;
  readonly #route: Route;
  readonly #parts: McpRouteParts;

  constructor(route: Route, parts: McpRouteParts) {
    this.#route = route;
    this.#parts = parts;
    this.readAction = createActionReader(route, parts);
    this.readQuestion = createActionReader(route, { ...parts, bindings: parts.unknown });
  }

  /** The `Mcp-Session-Id` that the client gets; undefined: none. */
  giveSession(theirs: string, grant: Grant): string | undefined {
    return this.#parts.bindings.giveSession(theirs, grant);
  }

  /** The state that a client sends back to repeat a call that a person has to approve. It gives no access. */
  giveApprovalState(grant: Grant): string {
    return this.#parts.bindings.giveApprovalState(grant);
  }

  /** What the route knows of the messages in its answers. */
  messages(parts: Pick<FilterParts, 'answers' | 'askAboutList' | 'onWithheld'>): AnswerMessages {
    const route = this.#route;
    const { bindings, toolHeaders } = this.#parts;
    const filterParts = { bindings, toolHeaders, ...parts };
    return {
      filter: (granted) => answerFilter(route, granted, filterParts),
      endOfStream: subscriptionEnd,
      refusalEvent,
    };
  }
}
