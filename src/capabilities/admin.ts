/**
 * What capabilities show at the admin listener, and what the listener asks of the processes of the gateway for it.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../core/lib/clock.ts';
import { boundedBytes } from '../core/lib/http/bodies.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import type { Config } from '../ports/config.ts';
import type { Events } from '../core/model/events.ts';

/** A request that the admin listener does not answer; the message is what the caller reads. */
export class AdminRefusal extends Error {
  override readonly name = 'AdminRefusal';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** Answers a request at the admin listener. */
export type AdminAnswer = (
  request: IncomingMessage,
  response: ServerResponse,
  /** Whether the caller is still an operator, for an answer that takes long. */
  isAllowed: () => boolean,
) => void | Promise<void>;

/** Answers with JSON. */
export function json(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Reads the JSON of a body; undefined if it is none. @throws {AdminRefusal} 413. */
export async function jsonBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  // A destroyed request could not be answered.
  const tooLong = (): Error =>
    new AdminRefusal(413, `The body has more than ${maxBytes} bytes.\n`, { connection: 'close' });
  return parsedJson((await boundedBytes(request, maxBytes, tooLong)).toString());
}

/** An answer to the operator. `body`: JSON text, in which numbers keep their digits; or why the status is not 200. */
export interface OperatorAnswer {
  readonly status: number;
  readonly body: string;
}

/** Answers with it. @throws {AdminRefusal} for a status that is not 200. */
export function send(response: ServerResponse, { status, body }: OperatorAnswer): void {
  if (status !== 200) throw new AdminRefusal(status, `${body}\n`);
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
}

/** The answer where no process gives one. */
export const noAnswer: OperatorAnswer = { status: 503, body: 'No process answers.' };

/** How the answers of several processes to a question become one. */
interface Joining<Answer> {
  readonly join: (answers: readonly Answer[]) => Answer;
  /** One process is asked, for all know the same, and has so long to answer; default: each is asked. */
  readonly oneWithinMs?: number;
}

/** A question of the admin listener to the processes of the gateway. It carries the types of both. */
export class Question<Argument, Answer> {
  readonly name: string;
  readonly join: Joining<Answer>['join'];
  readonly oneWithinMs: number | undefined;

  /** @param name Unique among all questions: messages between processes have it. */
  constructor(name: string, { join, oneWithinMs }: Joining<Answer>) {
    this.name = name;
    this.join = join;
    this.oneWithinMs = oneWithinMs;
  }

  /** How a process answers. It takes one argument, so that a message between processes has it. */
  by(answer: (argument: Argument) => Answer | Promise<Answer>): Answered {
    return { name: this.name, answer: answer as Answered['answer'] };
  }
}

/** A question, by its name, that a process can answer. */
export interface Answered {
  readonly name: string;
  readonly answer: (argument: unknown) => unknown;
}

/** What processes tell the admin listener while it watches. It carries the type of each piece. */
export class Feed<Piece> {
  readonly name: string;

  /** @param name Unique among all feeds: messages between processes have it. */
  constructor(name: string) {
    this.name = name;
  }

  /** How a process feeds it, until the returned function is called. */
  by(watch: (onPiece: (piece: Piece) => void) => () => void): Fed {
    return { name: this.name, watch };
  }
}

/** A feed, by its name, that a process can give. */
export interface Fed {
  readonly name: string;
  readonly watch: (onPiece: (piece: unknown) => void) => () => void;
}

/** The processes of the gateway, one or several. */
export interface AdminSource {
  readonly ask: <Argument, Answer>(question: Question<Argument, Answer>, argument: Argument) => Promise<Answer>;
  /** @returns what ends it. */
  readonly watch: <Piece>(feed: Feed<Piece>, onPiece: (piece: Piece) => void) => () => void;
}

/** The configuration in force. */
export interface InForce {
  config: Config;
  /** Since when, in milliseconds since the epoch. */
  since: number;
  /** Why the newest files are not in force; empty if they are. */
  problems: readonly string[];
  /** The secrets of the newest files that cannot be read, and have their last values. */
  kept: readonly string[];
}

/** What a capability can show at the admin listener. */
export interface AdminParts {
  readonly inForce: InForce;
  readonly source: AdminSource;
  /** The state of all processes: members of the gateway and of each capability. */
  readonly state: () => Promise<object>;
  /** How many processes serve. */
  readonly workers: () => number;
}

/** What a capability shows at the admin listener. */
export interface AdminPages {
  /** Answers GET and HEAD of operators, by path. */
  readonly gets?: ReadonlyMap<string, AdminAnswer>;
  /** Answers POST of operators, by path: only a page of the listener may send it. */
  readonly posts?: ReadonlyMap<string, AdminAnswer>;
  /** Answers every method of a caller that presents the token itself; undefined for any other path. */
  readonly withToken?: (path: string) => AdminAnswer | undefined;
  /** Answers GET and HEAD of every caller that names an own Host; undefined for any other path. */
  readonly open?: (path: string) => AdminAnswer | undefined;
  /** Shows the page to sign in at; false if there is none. */
  readonly signIn?: (request: IncomingMessage, response: ServerResponse) => boolean;
  readonly close?: () => void;
}

/** What a capability observes of a process that has an admin listener, from before its first request. */
export interface ProcessObserver {
  readonly events: Partial<Events>;
  readonly answers: readonly Answered[];
  readonly feeds: readonly Fed[];
  /** Members of the state of the process. */
  state(): object;
}

/** Begins to observe a process. */
export type Observe = (clock: Clock) => Promise<ProcessObserver>;
