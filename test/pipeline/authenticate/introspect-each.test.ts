import { expect, test } from 'vitest';
import {
  type Introspected,
  type Introspector,
  createMaySee,
  introspectAtEach,
  shortestReuse,
  type TokenAuthority,
} from '../../../src/pipeline/authenticate/introspection.ts';
import { Denial } from '../../../src/model/denial.ts';

const known = { reusableUntil: 5 } as Introspected;
const unavailable = new Denial('authorization_server.unavailable', 'away');
const refusal = new Denial('token.claims', 'sub is not a string');

let asked: string[] = [];

/** A server that says this of every token; undefined: it knows none. */
function saying(name: string, answer: Introspected | Error | undefined, cacheMs = 30_000): TokenAuthority {
  const say =
    (how: string) =>
    (token: string, onBehalfOf?: string): Promise<Introspected | undefined> => {
      asked.push(`${name} ${how} ${token} ${onBehalfOf}`);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    };
  return { cacheMs, maySee: () => true, introspect: { known: say('known'), afresh: say('afresh') } };
}

const silent: TokenAuthority = { cacheMs: 0, maySee: () => true, introspect: undefined };

async function ask(authorities: readonly TokenAuthority[], by: keyof Introspector = 'known'): Promise<unknown> {
  asked = [];
  return introspectAtEach('t', authorities, by, '192.0.2.1');
}

test('asks each server in turn, on behalf of the caller, until one knows the token', async () => {
  expect(await ask([silent, saying('a', undefined), saying('b', known), saying('c', known)])).toBe(known);
  expect(asked).toEqual(['a known t 192.0.2.1', 'b known t 192.0.2.1']);
  await ask([saying('a', known)], 'afresh');
  expect(asked).toEqual(['a afresh t 192.0.2.1']);
});

test('refuses a token that no server knows', async () => {
  const inactive = { reason: 'token.inactive' };
  await expect(ask([saying('a', undefined), silent, saying('b', undefined)])).rejects.toMatchObject(inactive);
  await expect(ask([])).rejects.toMatchObject(inactive);
});

test('stops at the first refusal and at a bug', async () => {
  await expect(ask([saying('a', undefined), saying('b', refusal), saying('c', known)])).rejects.toBe(refusal);
  const bug = new TypeError('ours');
  await expect(ask([saying('a', bug), saying('b', known)])).rejects.toBe(bug);
});

test('while one server is unavailable, the others can accept but not refuse a token', async () => {
  expect(await ask([saying('a', unavailable), saying('b', known)])).toBe(known);
  await expect(ask([saying('a', unavailable), saying('b', undefined)])).rejects.toBe(unavailable);
  await expect(ask([saying('a', unavailable), saying('b', refusal)])).rejects.toBe(refusal);
});

test('caches a refusal for the shortest time that the asked servers allow', () => {
  expect(shortestReuse([saying('a', undefined, 9), silent, saying('b', undefined, 7)])).toBe(7);
});

test.for<[isShown: boolean, token: string, prefix: string | undefined, why: string]>([
  [true, 'one_t', 'one_', 'its prefix'],
  [false, 'two_t', 'one_', 'the prefix of another server'],
  [false, 't', 'one_', 'no prefix'],
  [false, 't_one_', 'one_', 'its prefix at the end'],
  [true, 't', undefined, 'no prefix'],
  [true, 't_one_', undefined, 'the prefix of another server at the end'],
  [false, 'one_t', undefined, 'the prefix of another server'],
  [false, 'two_t', undefined, 'the prefix of a third server'],
])('shows (%s) the opaque token %s to a server with the prefix %s: it has %s', ([isShown, token, prefix]) => {
  expect(createMaySee(prefix, ['one_', 'two_'])(token)).toBe(isShown);
});
