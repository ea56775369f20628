/**
 * A gateway under attack. {@link AttackWorld.withstand} sends raw bytes and asserts what must hold after every attack;
 * a test adds what must hold after its own.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'vitest';
import type { reasons as ofProxies } from '../../src/capabilities/forward-auth/reasons.ts';
import type { Clock } from '../../src/core/lib/clock.ts';
import type { Reason } from '../../src/core/model/reasons.ts';
import { tlsLine } from '../support/certificates.ts';
import { exchangeInTurn, exchangeRaw, lastHead } from '../support/raw.ts';
import type { RequestHandler, SeenRequest, Upstream } from '../support/upstream.ts';
import { until } from '../support/until.ts';
import { startWorld, type World } from './gateway.ts';

/** The audience of every route but `/mcp`, whose audience is its URL. */
export const AUDIENCE = 'https://api.example';
/** A claim of every token that no route reads. */
const CLAIM_VALUE = 'only-the-token-knows';
/** A text in every answer of the upstream. */
export const UPSTREAM_TEXT = 'only-the-upstream-knows';

/** The expected outcome of an attack. */
interface Expected {
  /** The statuses of the answers on the connection, in order. */
  readonly statuses: readonly number[];
  /** `METHOD target` of each request that reaches the upstream. Default: none. */
  readonly reached?: readonly string[];
  /** The reason of each decision, or `allow`. Default: not checked. */
  readonly reasons?: readonly (Refusal | 'allow')[];
}

/** A reason of the core, or of the listener for proxies; `a|b` if either is right. */
type Refusal = Known | `${Known}|${Known}`;
type Known = Reason | keyof typeof ofProxies;

/** The outcome of an attack. */
interface Outcome {
  /** The answers, without interim ones. */
  readonly answers: readonly string[];
  /** The requests as a strict server parsed them. */
  readonly reached: readonly SeenRequest[];
  /** Every byte that reached the upstream, one string for each connection. */
  readonly wire: readonly string[];
  /** The lines of the decision log. */
  readonly decisions: readonly Record<string, unknown>[];
}

/** A gateway with routes `/public`, `/api`, `/admin`, `/mcp`, `/socket` and `/alive` before one upstream. */
export interface AttackWorld extends World {
  /** Where clients call. */
  readonly url: string;
  /** `Authorization: Bearer …` of a token that all routes but `/admin` accept. */
  readonly authorization: string;
  /** Values that must neither be disclosed nor reach the upstream: at first, every token. */
  readonly secrets: string[];
  /**
   * Sends `attack` unchanged and reads to the end of the connection, which the attack should cause itself. Then asserts
   * that the gateway answers an ordinary call, of which alone the upstream hears. No secret, claim or text of the upstream
   * may be in the gateway's own answers or in its log, and no secret may reach the upstream.
   */
  withstand(attack: string | Buffer, expected: Expected, url?: string): Promise<Outcome>;
  /** Withstands an attack of one request that is refused before the upstream hears of it. */
  refuses(attack: string | Buffer, status: number, reason?: Refusal, url?: string): Promise<Outcome>;
  /** Withstands an attack of one request that is allowed: the upstream gets it as `METHOD target`, and answers 200. */
  forwards(attack: string | Buffer, reached: string): Promise<Outcome>;
}

export interface AttackWorldOptions {
  /** Whether the gateway serves https. */
  readonly tls?: boolean;
  /** Whether each attack arrives with requests of another client, so that it waits for its turn. */
  readonly inTurn?: boolean;
  /** More lines at the top level of gateway.yaml. */
  readonly yaml?: string;
  /** More keys of the authorization server `main` besides `issuer` and `jwt`: `introspection: {…}`. */
  readonly server?: string;
  /** More authorization servers, which only routes that name them trust: `other: {…}`. */
  readonly servers?: string;
  /** More routes, as {@link startWorld} has them. */
  readonly routes?: readonly string[];
  /** More policies, or replacements of `api`, `admin` and `tools`. */
  readonly policies?: Readonly<Record<string, string>>;
  /** How the upstream answers; its answers must contain {@link UPSTREAM_TEXT}. */
  readonly answer?: RequestHandler;
  readonly clock?: Clock;
}

const main = 'authorization_servers: [main]';
const identity =
  'x-auth-subject: sub, x-auth-client: client_id, x-auth-absent: absent, x_auth_roles: roles, signed: { header: x-auth-identity, audience: them }';

/** A route that trusts `main`. */
const trusting = (name: string, own = '', upstream = ''): string =>
  `name: ${name}, path: /${name}, audience: "${AUDIENCE}", ${main}${own}, upstream: { url: "UPSTREAM/${name}"${upstream} }`;

/** Starts it on free ports. */
export async function startAttackWorld(options: AttackWorldOptions = {}): Promise<AttackWorld> {
  const {
    tls = false,
    inTurn = false,
    yaml = '',
    server = '',
    servers = '',
    routes = [],
    policies = {},
    answer = say,
  } = options;
  const publicUrl = tls ? 'https://gateway.test' : 'http://gateway.test';
  const base = await startWorld({
    publicUrl,
    clock: options.clock,
    top: `${yaml}\n${tls ? tlsLine() : ''}\nforward_auth: { listen: "127.0.0.1:0" }`,
    server: `jwt: { algorithms: [RS256] } ${server && `, ${server}`}`,
    servers,
    routes: [
      'name: public, path: /public, public: true, upstream: { url: "UPSTREAM/public" }',
      trusting('api', ', policy: api', `, identity: { ${identity} }`),
      trusting('admin', ', policy: admin'),
      `name: tools, path: /mcp, protocol: mcp, ${main}, resource: { name: Tools }, policy: tools, upstream: { url: "UPSTREAM/mcp" }`,
      trusting('socket', ', upgrade: websocket'),
      trusting('alive'),
      ...routes,
    ],
    policies: {
      api: 'scope: read',
      admin: 'scope: [read, admin]',
      tools: 'scope: read\ntools:\n  get_price: {}\n  pay: { scope: payments }\n',
      ...policies,
    },
    upstream: answer,
    claims: { aud: [AUDIENCE, `${publicUrl}/mcp`], scope: 'read', client_id: 'app', unasked: CLAIM_VALUE },
  });
  const { gateway, upstream } = base;
  const takeWire = recordWire(upstream);
  const secrets: string[] = [];
  const token: World['token'] = async (claims) => {
    const signed = await base.token(claims);
    secrets.push(signed);
    return signed;
  };
  const authorization = `Authorization: Bearer ${await token({ exp: Math.floor(Date.now() / 1000) + 86_400 })}`;
  const ordinary = `GET /alive HTTP/1.1\r\nHost: gateway.test\r\nConnection: close\r\n${authorization}\r\n\r\n`;

  // No decision, so that it is not logged.
  const unlogged = lastHead('GET /.well-known/oauth-protected-resource/mcp');

  /**
   * Asserts that the gateway answers, and that the attack sends no more whole message to the upstream.
   *
   * @returns what arrived only now of a message that the gateway had cut off: each on a connection of its own.
   */
  async function requireAlive(): Promise<readonly string[]> {
    expect(await exchangeRaw(gateway.url, ordinary)).toMatch(/^HTTP\/1\.1 200 /);
    const wire = takeWire();
    const late = wire.filter((text) => isCutOff(text));
    expect(wire.filter((text) => !isCutOff(text)).join('')).toMatch(
      /^GET \/alive HTTP\/1\.1\r\n(?:[^\r\n]+\r\n)+\r\n$/,
    );
    upstream.seen.length = 0;
    return late;
  }

  async function requireSilence(answers: readonly string[], wire: readonly string[]): Promise<void> {
    // An answer of the upstream may contain its text.
    const own = answers.filter((text) => !/^HTTP\/1\.1 (?:200|101) /.test(text));
    const said = `${own.join('')}${JSON.stringify(await gateway.lines())}`;
    for (const secret of [...secrets, CLAIM_VALUE, UPSTREAM_TEXT]) expect(said).not.toContain(secret);
    for (const secret of secrets) expect(`${answers.join('')}${wire.join('')}`).not.toContain(secret);
  }

  const world: AttackWorld = {
    ...base,
    url: gateway.url,
    authorization,
    secrets,
    token,
    refuses: (attack, status, reason, url) =>
      world.withstand(attack, { statuses: [status], ...(reason && { reasons: [reason] }) }, url),
    forwards: (attack, reached) => world.withstand(attack, { statuses: [200], reached: [reached], reasons: ['allow'] }),
    async withstand(attack, { statuses, reached = [], reasons }, url = gateway.url) {
      await gateway.clearLog();
      upstream.seen.length = 0;
      takeWire();
      const received = inTurn ? exchangeInTurn(url, attack, unlogged) : exchangeRaw(url, attack);
      const answers = answersIn(await received);
      expect(answers.map((text) => Number(text.slice(9, 12)))).toEqual(statuses);
      await until(() => upstream.seen.length >= reached.length, `${reached.join()} to reach the upstream`);
      const [atOnce, early] = [[...upstream.seen], takeWire()];
      const outcome = { answers, reached: atOnce, wire: [...early, ...(await requireAlive())] };
      const ordinaryDecision = await gateway.line({ msg: 'decision', route: 'alive', allow: true });
      // The decision on an attack may come after it.
      const decisions = (await gateway.decisions(1)).filter((line) => line !== ordinaryDecision);
      expect(outcome.reached.map(({ method, url }) => `${method} ${url}`)).toEqual(reached);
      await requireSilence(answers, outcome.wire);
      if (reasons !== undefined) requireReasons(decisions, reasons);
      return { ...outcome, decisions };
    },
  };
  return world;
}

function say(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ text: UPSTREAM_TEXT }));
}

/** Whether a connection has one message with chunks, without the last one. */
function isCutOff(text: string): boolean {
  const [head = '', ...body] = text.split('\r\n\r\n');
  const isChunked =
    head.startsWith('POST /public HTTP/1.1\r\n') && /\r\ntransfer-encoding: chunked(?:\r\n|$)/.test(head);
  return isChunked && body.length === 1 && !/HTTP\/1\.1|(?:^|\r\n)0$/.test(body[0] ?? '');
}

/** Records every byte that an upstream receives, until the bytes are taken. */
function recordWire({ server }: Upstream): () => readonly string[] {
  const connections = new Set<{ bytes: string }>();
  server.on('connection', (socket) => {
    const connection = { bytes: '' };
    connections.add(connection);
    socket.on('data', (chunk: Buffer) => (connection.bytes += chunk.toString('latin1')));
  });
  return () => {
    const taken = [...connections].map(({ bytes }) => bytes).filter((bytes) => bytes !== '');
    for (const connection of connections) connection.bytes = '';
    return taken;
  };
}

/** The final answers among bytes. No body of the upstream begins like one. */
function answersIn(received: string): string[] {
  return received.split(/(?=HTTP\/1\.1 \d{3} )/).filter((text) => text !== '' && !/^HTTP\/1\.1 1(?!01)/.test(text));
}

function requireReasons(decisions: readonly Record<string, unknown>[], wanted: readonly string[]): void {
  const found = decisions.map(({ allow, reason }) => (allow === true ? 'allow' : String(reason)));
  const matched = found.map((reason, i) => (wanted[i]?.split('|').includes(reason) === true ? wanted[i] : reason));
  expect(matched).toEqual(wanted);
}
