/**
 * Every reader of foreign bytes that works in one step, with the party that sends them and the most that it may send.
 *
 * Elsewhere: Node reads header sections (limited to 16 KiB); a draft of the console is tried in a process of its own
 * (`src/capabilities/console/draft-process.ts`); a decision on an approval has at most 1 KiB; and there is no reader of the
 * PROXY protocol or of `Forwarded`.
 *
 * @module
 */
import { compileSchema } from '../../../src/capabilities/lock/json-schema.ts';
import { canonicalTarget, createRouter } from '../../../src/core/gateway/route/router.ts';
import { readJwkSet } from '../../../src/tokens/servers/jwk-set.ts';
import type { Rewriting } from '../../../src/mcp/body-filter.ts';
import { EventFilter } from '../../../src/mcp/event-filter.ts';
import { readProof } from '../../../src/capabilities/possession/dpop-proof.ts';
import { claimedIssuer } from '../../../src/tokens/jwt.ts';
import { requireAccessToken } from '../../../src/tokens/access-token.ts';
import { confirmationOf, scopesOf } from '../../../src/tokens/principal.ts';
import { namedTokens } from '../../../src/capabilities/revocation/subjects.ts';
import { decodedValue, type MessageHeaders } from '../../../src/mcp/agreement.ts';
import { filteredMessage } from '../../../src/mcp/lists.ts';
import { readMessage } from '../../../src/mcp/message.ts';
import { messageLimits } from '../../support/message-limits.ts';
import { compileListing } from '../../../src/core/policy/listing.ts';
import { hasDuplicateMembers } from '../../../src/core/lib/json/scanner.ts';
import { readTraceContext } from '../../../src/core/lib/http/trace-context.ts';
import { cookiesNamed, hopsBefore, nominatedBy, withoutCookies } from '../../../src/core/lib/http/header-fields.ts';
import { createIsWithin } from '../../../src/core/lib/ip-address.ts';
import { anyPattern } from '../../../src/front-door/url-pattern.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

/** A reader of foreign bytes. */
export interface Reader {
  /** The party that sends them; a peer has not authenticated. */
  readonly party: 'peer' | 'caller' | 'upstream' | 'authorization server' | 'transmitter' | 'client';
  /** The most bytes that it gets at once. */
  readonly most: number;
  /** Reads a text, in one step; throws for one that it refuses. */
  readonly read: (text: string) => unknown;
  /** The part of them that is measured. Default: `most`. */
  readonly measured?: number;
}

const isTrusted = createIsWithin(['10.0.0.0/8', '127.0.0.0/8']);
const route = createRouter(new Map([...Array(200).keys()].map((i) => [`/r${i}/a.b/c`, i])));
const requests = compileListing(
  { requests: { 'GET /**': {}, 'GET /*/*/secret': {}, 'GET /orders/export': {}, 'GET /*/b/**': {} } },
  [],
  [],
);
const listing = compileListing(
  {
    tools: { '*': {}, 'get_*_by_*': {}, get_all: {} },
    resources: { '**': {}, 'file:///**/a*b*c': {}, 'file:///x': {} },
    prompts: { '*x*y*': {} },
    methods: { '*': {} },
  },
  [],
  [],
);
const noHeaders = { names: [], raw: [] } as unknown as MessageHeaders;
const matches = anyPattern(['https://a.example/**', 'https://*.b/*a*a*a', 'http://127.0.0.1:*/**']);
const lists: Rewriting = {
  concerns: () => true,
  rewrite: (text) => filteredMessage(text, () => true),
  mustRead: true,
};
interface Call {
  readonly params: { readonly arguments: unknown };
}

/** Schemas that look at their values in all ways. */
const judges = [
  { additionalProperties: { anyOf: [{ type: 'number' }, { $ref: '#' }, {}] } },
  { allOf: Array.from({ length: 60 }, (_, at) => ({ maxProperties: 20_000 + at })), unevaluatedProperties: true },
  { patternProperties: { '^a[a-z]*$': {}, '^(?:a?){8}b$': {}, '^\\p{L}*\\p{N}$': {} }, additionalProperties: true },
  { properties: { list: { uniqueItems: true, contains: { const: { a: [1] } } }, text: { minLength: 500_000 } } },
].map((schema) => compileSchema(schema));
const algorithms = new Set(['ES256', 'RS256']);

export const readers: Readonly<Record<string, Reader>> = {
  'request target': {
    party: 'peer',
    most: 16 * KiB,
    read(text) {
      const { path } = canonicalTarget(text);
      requests?.request?.(`GET ${path}`);
      return route(path);
    },
  },
  'X-Forwarded-For': { party: 'peer', most: 16 * KiB, read: (text) => hopsBefore('127.0.0.1', text, isTrusted) },
  Connection: { party: 'peer', most: 16 * KiB, read: nominatedBy },
  Cookie: {
    party: 'peer',
    most: 16 * KiB,
    read: (text) => [cookiesNamed('a', text), withoutCookies(/^(?:__Host-)?sallyport/, text)],
  },
  tracestate: {
    party: 'peer',
    most: 16 * KiB,
    read: (text) => readTraceContext('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', text),
  },
  'a repeated value in a header': { party: 'peer', most: 16 * KiB, read: decodedValue },
  'DPoP proof': { party: 'peer', most: 16 * KiB, read: (text) => readProof(text, algorithms) },
  JWT: { party: 'peer', most: 16 * KiB, read: claimedIssuer },
  'MCP message': {
    party: 'caller',
    most: MiB,
    read(text) {
      const { method, targets } = readMessage(Buffer.from(text), noHeaders, messageLimits);
      for (const { kind, name } of targets) listing?.[kind]?.(name);
      return method.name !== undefined && listing?.method?.(method.name);
    },
  },
  'list of an upstream': {
    party: 'upstream',
    most: 8 * MiB,
    measured: MiB,
    read: (text) => filteredMessage(text, ({ kind, name }) => listing?.[kind]?.(name) !== undefined),
  },
  'answer of a decision point': {
    party: 'authorization server',
    most: MiB,
    read: (text) => hasDuplicateMembers(text, JSON.parse(text)),
  },
  'claims of an introspection answer': {
    party: 'authorization server',
    most: MiB,
    read(text) {
      const claims = JSON.parse(text) as Record<string, unknown>;
      requireAccessToken(claims, false);
      return [scopesOf(claims), confirmationOf(claims['cnf'])];
    },
  },
  'event of an upstream': {
    party: 'upstream',
    most: 8 * MiB,
    measured: MiB,
    read: (text) => new EventFilter(lists).push(Buffer.from(text)),
  },
  'JWK Set': {
    party: 'authorization server',
    most: 512 * KiB,
    read: (text) => readJwkSet(JSON.parse(text)),
  },
  'subject of a security event': {
    party: 'transmitter',
    most: MiB,
    read: (text) => namedTokens(JSON.parse(text), [{ issuer: 'https://as.example' } as never]),
  },
  'schema of a tool': {
    party: 'upstream',
    most: 256 * KiB,
    read: (text) => compileSchema(JSON.parse(text)),
  },
  'arguments of a strict call': {
    party: 'caller',
    most: MiB,
    read(text) {
      const { id } = readMessage(Buffer.from(text), noHeaders, messageLimits);
      return judges.flatMap((judge) => judge((JSON.parse(text) as Call).params.arguments, id !== null));
    },
  },
  'URL of a client': { party: 'client', most: 56 * KiB, read: matches },
};
