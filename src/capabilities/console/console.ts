/**
 * The requests of the console. The admin listener has checked the caller before. None of them changes any state.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ratePoints, SLOT_MS } from './rates.ts';
import {
  type AdminAnswer,
  type AdminParts,
  AdminRefusal,
  type AdminSource,
  type InForce,
  json,
  jsonBody,
} from '../admin.ts';
import { DraftProcess } from './draft-process.ts';
import {
  type AnswerAt,
  type Batch,
  DECISIONS,
  DRAFT,
  type DraftAnswer,
  type DraftQuestion,
  type DraftRequest,
  endpoints,
  filterIn,
  type PolicyView,
  type ProcessState,
  type RouteView,
  type Status,
} from './messages.ts';
import { distinct, find, newDecisions, past, rates } from './questions.ts';
import { consoleSettings } from './settings.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { describedKinds } from '../../core/model/mcp.ts';
import { join } from 'node:path';
import { disk } from '../../core/config/files.ts';
import type { Config } from '../../ports/config.ts';
import type { DraftTask } from './draft.ts';

/** The requests of the console, by path. */
export interface ConsoleRequests {
  readonly gets: ReadonlyMap<string, AdminAnswer>;
  /** Those with a body, which only a page of the listener may send. */
  readonly posts: ReadonlyMap<string, AdminAnswer>;
  readonly close: () => void;
}

/** The answers, by the names of their endpoints; undefined if there is none. */
type Answers = {
  readonly [Name in keyof typeof endpoints]: (query: URLSearchParams) => Promise<AnswerAt<Name> | undefined>;
};

/** Creates the answers to them. */
export function consoleRequests({ inForce, source, state, workers }: AdminParts): ConsoleRequests {
  const feed = new WatchingPages(source.watch);
  const policies = new Policies(inForce, source);
  const answers: Answers = {
    status: async () => statusOf(inForce, (await state()) as ProcessState, workers()),
    policies: () => policies.list(),
    past: (query) => source.ask(past, filterIn(query)),
    async decision(query) {
      const decision = await source.ask(find, query.get('id') ?? '');
      // With the explanations of decisions, which most processes never show.
      return decision && (await import('./detail.ts')).detailOf(inForce, decision);
    },
    rates: async () => ({ slotMs: SLOT_MS, points: ratePoints(await source.ask(rates, undefined)) }),
  };
  const gets = new Map<string, AdminAnswer>([[DECISIONS, watch]]);
  for (const [name, { path }] of Object.entries(endpoints)) {
    const answerTo = answers[name as keyof Answers];
    gets.set(path, async (request, response) => {
      const answer = await answerTo(queryOf(request));
      if (answer === undefined) response.writeHead(404).end('This decision is no longer kept.\n');
      else json(response, answer);
    });
  }

  function watch({ method }: IncomingMessage, response: ServerResponse, isAllowed: () => boolean): void {
    if (method === 'HEAD') response.end();
    else if (!feed.isFull) feed.open(response, isAllowed);
    else response.writeHead(503, { 'retry-after': '10' }).end('Too many pages watch.\n');
  }

  async function attempt(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await policies.attempt(await draftIn(request), () => !response.destroyed);
    if (answer === undefined) response.writeHead(404).end('There is no such policy.\n');
    else json(response, answer);
  }

  return { gets, posts: new Map([[DRAFT, attempt]]), close: () => policies.close() };
}

/** The configuration in force, and the state of what it depends on. */
function statusOf({ config, since, problems, kept }: InForce, state: ProcessState, workers: number): Status {
  return {
    config: config.hash,
    since,
    problems: [...problems, ...kept],
    routes: routesOf(config),
    workers,
    ...state,
    grafana: consoleSettings.of(config)?.grafana,
  };
}

/** The routes of a configuration; nothing of them is secret. */
function routesOf({ routes, publicUrl }: Config): readonly RouteView[] {
  return routes.map(({ name, path, protocol, policy, upstream, public: isPublic }) => ({
    name,
    path,
    url: publicUrl + path,
    protocol,
    policy: policy?.name,
    isPublic,
    upstream: upstream.origin + upstream.path,
  }));
}

function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const at = url.indexOf('?');
  return new URLSearchParams(at === -1 ? '' : url.slice(at));
}

/** The limit on the body of a draft, in bytes. Policies are a few KiB. */
const MAX_BYTES = 512 * 1024;

async function draftIn(request: IncomingMessage): Promise<DraftRequest> {
  const body = await jsonBody(request, MAX_BYTES);
  if (!isObject(body)) throw new AdminRefusal(400, 'The body is not a JSON object.\n');
  const { policy, text, route, question, isThorough } = body;
  if (typeof policy !== 'string' || typeof text !== 'string') {
    throw new AdminRefusal(400, 'A draft has the members "policy" and "text".\n');
  }
  return {
    policy,
    text,
    route: typeof route === 'string' ? route : undefined,
    question: isObject(question) ? questionIn(question) : undefined,
    isThorough: isThorough === true,
  };
}

function questionIn(question: Readonly<Record<string, unknown>>): DraftQuestion {
  const textOf = (name: string): string => {
    const value = question[name];
    return typeof value === 'string' ? value : '';
  };
  return {
    claims: textOf('claims'),
    scope: textOf('scope'),
    lifetime: textOf('lifetime'),
    kind: [...describedKinds, 'method' as const].find((kind) => kind === question['kind']) ?? 'tool',
    name: textOf('name'),
    arguments: textOf('arguments'),
    history: textOf('history'),
  };
}

/** The policies in force, and drafts of them. Drafts are compiled and decided in another process, and forgotten. */
class Policies {
  readonly #inForce: InForce;
  readonly #source: AdminSource;
  readonly #drafts = new DraftProcess();

  constructor(inForce: InForce, source: AdminSource) {
    this.#inForce = inForce;
    this.#source = source;
  }

  async list(): Promise<readonly PolicyView[]> {
    const { config } = this.#inForce;
    const views: PolicyView[] = [];
    // One after the other: a process tries one at a time, and refuses when many wait.
    for (const { name, rules } of config.policies.values()) {
      const text = config.policyFolder.texts.get(`${name}.yaml`) ?? '';
      const task = await this.#taskOf(config, { policy: name, text, isThorough: true });
      const { tests, properties } = await this.#drafts.run(task);
      views.push({
        name,
        file: `${config.policyFolder.label}/${name}.yaml`,
        text,
        rules: rules.length,
        routes: routesWith(config, name).map((route) => ({ name: route.name, protocol: route.protocol })),
        tests,
        properties,
      });
    }
    return views;
  }

  /** Tries a draft; undefined if there is no such policy. @throws {AdminRefusal} */
  async attempt(request: DraftRequest, isWanted: () => boolean): Promise<DraftAnswer | undefined> {
    const { config } = this.#inForce;
    if (!config.policies.has(request.policy)) return undefined;
    return this.#drafts.run(await this.#taskOf(config, request), isWanted);
  }

  close(): void {
    this.#drafts.close();
  }

  async #taskOf(config: Config, { policy, text, route, question, isThorough }: DraftRequest): Promise<DraftTask> {
    const tests = (await disk.text(join(config.policyFolder.path, `${policy}.test.yaml`))).text;
    const found = config.routes.find(({ name }) => name === route) ?? routesWith(config, policy)[0];
    return {
      policy,
      text,
      inForce: config.policyFolder.texts.get(`${policy}.yaml`) ?? '',
      tests,
      scopeHierarchy: config.scopeHierarchy,
      issuer: found?.authorizationServers[0]?.issuer ?? '',
      route: found && { name: found.name, protocol: found.protocol },
      question,
      decisions: isThorough ? await this.#source.ask(distinct, policy) : undefined,
    };
  }
}

function routesWith({ routes }: Config, policy: string): Config['routes'] {
  return routes.filter((route) => route.policy?.name === policy);
}

const MAX_WATCHERS = 50;
/** The limit on bytes that wait for a slow page. Decisions beyond it are lost to the page, which gets their number. */
const MAX_WAITING = 512 * 1024;
/** How often the access of a page is checked. A page that read nothing for so long is closed. */
const CHECK_MS = 10_000;

interface Watcher {
  readonly response: ServerResponse;
  readonly isAllowed: () => boolean;
  /** How many decisions were lost to it since the last event. */
  lost: number;
  /** Whether it had too much waiting at the last check. */
  isStuck: boolean;
}

/** The stream of new decisions to the pages that watch, as server-sent events. Without a page, nothing runs. */
class WatchingPages {
  readonly #watch: AdminSource['watch'];
  readonly #watchers = new Set<Watcher>();
  #stop: () => void = () => {};

  constructor(watch: AdminSource['watch']) {
    this.#watch = watch;
  }

  get isFull(): boolean {
    return this.#watchers.size >= MAX_WATCHERS;
  }

  /**
   * Begins to send.
   *
   * @param isAllowed Asked again while the stream is open: a session ends, and a token may be replaced.
   */
  open(response: ServerResponse, isAllowed: () => boolean): void {
    const watcher: Watcher = { response, isAllowed, lost: 0, isStuck: false };
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    response.write('retry: 1000\n\n');
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) this.#begin();
    response.once('close', () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.#stop();
    });
  }

  #begin(): void {
    const stopWatching = this.#watch(newDecisions, (batch) => this.#send(batch));
    const timer = setInterval(() => this.#check(), CHECK_MS);
    this.#stop = () => {
      stopWatching();
      clearInterval(timer);
    };
  }

  #send(batch: Batch): void {
    const count = batch.rows.length + batch.leftOut;
    const text = event('decisions', batch);
    for (const watcher of this.#watchers) {
      const { response, lost } = watcher;
      if (response.writableLength > MAX_WAITING) watcher.lost += count;
      else {
        watcher.lost = 0;
        response.write(lost === 0 ? text : event('lost', lost) + text);
      }
    }
  }

  #check(): void {
    for (const watcher of this.#watchers) {
      const { response } = watcher;
      const isBehind = response.writableLength > MAX_WAITING;
      if (!watcher.isAllowed() || (isBehind && watcher.isStuck)) response.destroy();
      else if (!isBehind) response.write(':\n\n');
      watcher.isStuck = isBehind;
    }
  }
}

function event(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}
