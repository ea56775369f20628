import { describe, expect, test } from 'vitest';
import type { Denial } from '../../../src/model/denial.ts';
import type { Plan } from '../../../src/model/policy.ts';
import type { Principal } from '../../../src/model/principal.ts';
import { credentialOf, issued, startTokenEndpointWorld } from '../../worlds/token-endpoint.ts';
import { startBeforeEach } from '../../support/start-before.ts';

const world = startBeforeEach(startTokenEndpointWorld);

describe('scope', () => {
  const narrower = (scope: unknown) => () => issued('new', { scope });
  /** A caller whose token came from the exchange's server, or from `issuer`. */
  const caller = (scope: string, issuer = world.issuer.url): Partial<Principal> => ({
    issuer,
    grantedScopes: scope.split(' '),
  });

  test.each<[string, unknown]>([
    ['as asked, not told', undefined],
    ['as asked, told', 'read list'],
    ['in another order, and more', 'more list read'],
  ])('granted %s: taken', async (_, scope) => {
    world.answer = narrower(scope);
    await expect(credentialOf(world.route(), 't', caller('x'))).resolves.toBe('Bearer new');
  });

  test('accepts any granted scope if none was requested', async () => {
    world.answer = narrower('x');
    await expect(credentialOf(world.route({ scope: [] }), 't', caller('x'))).resolves.toBe('Bearer new');
  });

  test.each<[reason: string, granted: string, held: string]>([
    ['exchange.insufficient_scope', 'read', 'read'],
    ['exchange.insufficient_scope', '', 'x'],
    ['exchange.scope', 'read', 'read list'],
    ['exchange.scope', '', 'list'],
  ])('%s: granted "%s" to a token with "%s"', async (reason, granted, held) => {
    world.answer = narrower(granted);
    await expect(credentialOf(world.route(), 't', caller(held))).rejects.toMatchObject({ reason });
  });

  test.each<[reason: string, held: string]>([
    ['exchange.insufficient_scope', 'read'],
    ['exchange.insufficient_scope', ''],
    ['exchange.scope', 'read list'],
  ])('%s: invalid_scope for a token with "%s"', async (reason, held) => {
    world.answer = () => ({ status: 400, body: { error: 'invalid_scope' } });
    await expect(credentialOf(world.route(), 't', caller(held))).rejects.toMatchObject({ reason });
  });

  test('does not count a scope that only the hierarchy implies', async () => {
    world.answer = narrower('write');
    const principal = { ...caller('write'), scopes: new Set(['write', 'read']) };
    await expect(credentialOf(world.route({ scope: ['read'] }), 't', principal)).rejects.toMatchObject({
      reason: 'exchange.insufficient_scope',
    });
  });

  test('exchange.scope for a token of another server', async () => {
    world.answer = narrower('read');
    await expect(credentialOf(world.route(), 't', caller('read', 'https://other.example'))).rejects.toMatchObject({
      reason: 'exchange.scope',
      scope: [],
    });
  });

  test('the challenge names all that each operation needs, from one refusal', async () => {
    world.answer = narrower('');
    const needing = (...scope: string[]) => ({ neededScopes: () => scope }) as unknown as Plan;
    const ask = (operation?: Plan) => credentialOf(world.route(), 't', caller('x'), operation);
    const outcomes = [ask(needing('x', 'pay')), ask(needing('list')), ask()].map((call) =>
      call.catch((error: unknown) => error),
    );
    expect((await Promise.all(outcomes)).map((denial) => (denial as Denial).scope)).toEqual([
      ['x', 'pay', 'read', 'list'],
      ['list', 'read'],
      ['read', 'list'],
    ]);
    await expect(ask(needing('later'))).rejects.toMatchObject({ scope: ['later', 'read', 'list'] });
    expect(world.calls().length).toBe(1);
  });
});
