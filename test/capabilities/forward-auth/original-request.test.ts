import type { IncomingMessage } from 'node:http';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { originalCall } from '../../../src/capabilities/forward-auth/original-request.ts';
import type { Call } from '../../../src/core/model/call.ts';
import { canonicalTarget } from '../../../src/core/gateway/route/router.ts';
import { runs } from '../../support/runs.ts';
import { property } from '../../support/property.ts';
import { orReason } from '../../support/denial.ts';
import { words } from '../../support/words.ts';

const name = fc.constantFrom(
  ...words('X-Forwarded-Method X-Forwarded-Uri X-Forwarded-Host X-Original-Method X-Original-Uri Connection X-Other'),
);
const value = fc.constantFrom('', 'a b', ...words('GET POST CONNECT /x /a/../b h.example close x-forwarded-uri'));
const url = fc.constantFrom('/_sallyport/authorize', '/_sallyport/authorize/x?y', '/_sallyport/authorize?q', '/x');

/** Method and target of the request, or the reason of the Denial. */
function read(asked: string, rawHeaders: readonly string[]): string {
  const request = { rawHeaders, httpVersionMajor: 1, url: asked, method: 'GET' } as unknown as IncomingMessage;
  return orReason(() => {
    const { method, path, query } = originalCall({ request, peer: '' } as Call, canonicalTarget, () => undefined);
    return `${method} ${path}${query}`;
  });
}

property(
  'whatever a proxy sends: the one request that it tells of, or a Denial',
  [url, fc.array(fc.tuple(name, value), { maxLength: 6 })],
  (asked, fields) => {
    const told = (what: string): string =>
      fields.flatMap(([each, said]) => (new RegExp(`^x-.*-${what}$`, 'i').test(each) ? [said] : [])).join();
    const itself = asked.startsWith('/_sallyport/authorize/') ? 'GET /x?y' : `${told('method')} ${told('uri')}`;
    const found = read(asked, ['Host', 'h', ...fields.flat()]);
    expect(found === itself || /^(?:forward_auth\.request|request\.\w+|route\.unknown)$/.test(found)).toBe(true);
  },
  { numRuns: runs },
);

describe('a question', () => {
  const at = '/_sallyport/authorize';
  const asked = { 'X-Forwarded-Method': 'GET', 'X-Forwarded-Uri': '/x', 'X-Forwarded-Host': 'h' };
  const originally = { 'X-Original-Method': 'GET', 'X-Original-URI': '/x', 'X-Forwarded-Host': 'h' };
  const decided = (fields: object, url = at): string => read(url, ['Host', 'h', ...Object.entries(fields).flat()]);

  test.each([asked, originally])('names a request by %j', (fields) => {
    expect(decided(fields)).toBe('GET /x');
    for (const name of Object.keys(fields)) {
      expect(decided({ ...fields, [name]: '' }), `without ${name}`).toBe('forward_auth.request');
      const twice = ['Host', 'h', ...Object.entries(fields).flat(), name, 'x'];
      expect(read(at, twice), `two ${name}`).toBe('forward_auth.request');
    }
  });

  test.each<[string, object, url?: string]>([
    ['the fields of both conventions', { ...asked, 'X-Original-URI': '/y' }],
    ['half of each', { 'X-Forwarded-Method': 'GET', 'X-Original-URI': '/x', 'X-Forwarded-Host': 'h' }],
    ['a method that is none', { ...asked, 'X-Forwarded-Method': 'GE T' }],
    // Go's server takes it and Traefik forwards it; Django and Flask read it as DELETE.
    ['a method that is not in capitals', { ...asked, 'X-Forwarded-Method': 'delete' }],
    ['a method with one small letter', { ...asked, 'X-Forwarded-Method': 'DELeTE' }],
    ['a path of its own beside a field', { 'X-Original-URI': '/y' }, `${at}/x`],
  ])('with %s is refused', (_what, fields, url) => {
    expect(decided(fields, url)).toBe('forward_auth.request');
  });

  test.each(['x-forwarded-uri', 'x-original-method', 'x-auth-subject', 'authorization', 'x-anything'])(
    'whose Connection names %s is refused',
    (name) => {
      const reasons = [decided({ ...asked, Connection: `close, ${name}` }), decided({ Connection: name }, `${at}/x`)];
      expect(reasons).toEqual(['request.framing', 'request.framing']);
    },
  );

  test.each(['/', '/public', `${at}d`, `${at}%3fx`, '/_sallyport', `/x/..${at}`])('is not found at %s', (url) => {
    expect(decided(asked, url)).toBe('route.unknown');
  });
});
