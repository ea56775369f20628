/** What a server says that it has revoked: no cache answers for it any more. */
import { hash } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import {
  type Authentication,
  type Authenticators,
  createAuthenticators,
} from '../../../src/pipeline/authenticate/authenticator.ts';
import { unlimitedFailures } from '../../../src/pipeline/limit/failures.ts';
import type { AuthorizationServer, AuthorizationServerClient } from '../../../src/model/authorization-server.ts';
import type { Call } from '../../../src/model/call.ts';
import type { RefusedToken } from '../../../src/model/grant.ts';
import type { Route } from '../../../src/model/route.ts';
import type { SharedAnswers } from '../../../src/model/shared.ts';
import { bearer } from '../../support/bearer.ts';
import { serverOf } from '../../support/server.ts';

const key = hash('sha256', 'opaque', 'base64url');
const call = { client: '192.0.2.1' } as Call;
const issuer = 'https://as.example';
const server = serverOf({ url: issuer } as Parameters<typeof serverOf>[0]);
let says: object;
/** Called before the server answers. */
let onAnswer: () => void;
let refused: RefusedToken[];
let deleted: (readonly string[])[];
let kept: Map<string, unknown>;
let authenticators: Authenticators;

const answers: SharedAnswers = {
  get: async (_kind, place) => kept.get(place) as undefined,
  set: (_kind, place, answer, expiresAt) => void kept.set(place, { answer, expiresAt }),
  delete(kind, place) {
    deleted.push([kind, place]);
    kept.delete(place);
  },
};

beforeEach(() => {
  onAnswer = () => {};
  says = { active: true, aud: 'r', sub: 'alice' };
  [refused, deleted, kept] = [[], [], new Map()];
  authenticators = createAuthenticators(
    () => {},
    Date.now,
    answers,
    (token) => refused.push(token),
  );
});

const inactive = expect.objectContaining({ reason: 'token.inactive' }) as Error;

/** Trusts a server, which answers every introspection by `says`. */
function authentication(trusted: AuthorizationServer = server) {
  const client = {
    server: trusted,
    metadata: async () => ({ introspectionEndpoint: `${issuer}/introspect` }),
    async post() {
      const body = says;
      onAnswer();
      return { status: 200, mediaType: 'application/json', text: '', body };
    },
  } as unknown as AuthorizationServerClient;
  const route = { authorizationServers: [trusted], audiences: ['r'], tokens: new Set(['opaque']) };
  const create = authenticators(new Map([['main', client]]), new Map(), unlimitedFailures);
  return create(route as unknown as Route, (principal) => principal);
}

test('is introspected again, past the shared answer, and its streams end', async () => {
  const main = authentication();
  await main.authenticate(bearer('opaque'), call);
  says = { active: false };
  expect(await main.authenticate(bearer('opaque'), call)).toMatchObject({ subject: 'alice' });
  const [shared] = [...kept.keys()];
  authenticators.revoke('main', key);
  expect(refused).toEqual([{ key, issuers: [issuer], reason: 'token.inactive' }]);
  expect(deleted).toEqual([['introspection', shared]]);
  await expect(main.authenticate(bearer('opaque'), call)).rejects.toMatchObject({ reason: 'token.inactive' });
});

test.each<[of: string, ask: (main: Authentication) => Promise<unknown> | object]>([
  ['a request', (main) => main.authenticate(bearer('opaque'), call)],
  ['an open stream', (main) => main.revalidate(bearer('opaque'))],
])('R-282: is refused although an answer for %s was in flight, which no cache keeps', async (_of, ask) => {
  const main = authentication();
  onAnswer = () => authenticators.revoke('main', key);
  await expect(ask(main)).rejects.toMatchObject({ reason: 'token.inactive' });
  expect(kept.size).toBe(0);
  expect(() => main.authenticate(bearer('opaque'), call)).toThrow(inactive);
});

test('R-282: is refused although another replica shares an answer from before', async () => {
  const main = authentication();
  await main.authenticate(bearer('opaque'), call);
  const late = [...kept];
  authenticators.revoke('main', key);
  kept = new Map(late);
  says = { active: false };
  await expect(main.authenticate(bearer('opaque'), call)).rejects.toMatchObject({ reason: 'token.inactive' });
});

test('changes nothing at an unknown server, and before any configuration', () => {
  authenticators.revoke('main', key);
  authentication();
  authenticators.revoke('other', key);
  expect([refused, deleted]).toEqual([[], []]);
});

test('ends its streams also where the server has no introspection', () => {
  authentication({ ...server, introspection: undefined });
  authenticators.revoke('main', key);
  expect([refused.length, deleted]).toEqual([1, []]);
});

test('needs neither a shared store nor an observer', async () => {
  authenticators = createAuthenticators(() => {}, Date.now);
  const main = authentication();
  await main.authenticate(bearer('opaque'), call);
  says = { active: false };
  authenticators.revoke('main', key);
  await expect(main.authenticate(bearer('opaque'), call)).rejects.toMatchObject({ reason: 'token.inactive' });
});
