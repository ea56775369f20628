import type { IncomingMessage } from 'node:http';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { originalCall } from '../../../src/pipeline/listen/original-request.ts';
import type { Call } from '../../../src/model/call.ts';
import { Denial } from '../../../src/model/denial.ts';
import { canonicalTarget } from '../../../src/pipeline/route/target.ts';
import { runs } from '../../support/runs.ts';

const name = fc.constantFrom(
  'X-Forwarded-Method',
  'X-Forwarded-Uri',
  'X-Forwarded-Host',
  'X-Original-Method',
  'X-Original-Uri',
  'Connection',
  'X-Other',
);
const value = fc.constantFrom(
  'GET',
  'POST',
  'CONNECT',
  '/x',
  '/a/../b',
  'h.example',
  'close',
  'x-forwarded-uri',
  '',
  'a b',
);
const url = fc.constantFrom('/_sallyport/authorize', '/_sallyport/authorize/x?y', '/_sallyport/authorize?q', '/x');

/** Method and target of the request, or the reason of the Denial. */
function read(asked: string, rawHeaders: readonly string[]): string {
  const request = { rawHeaders, httpVersionMajor: 1, url: asked, method: 'GET' } as unknown as IncomingMessage;
  try {
    const { method, path, query } = originalCall({ request, peer: '' } as Call, canonicalTarget, () => undefined);
    return `${method} ${path}${query}`;
  } catch (error) {
    if (error instanceof Denial) return error.reason;
    throw error;
  }
}

test('whatever a proxy sends: the one request that it tells of, or a Denial', () => {
  fc.assert(
    fc.property(url, fc.array(fc.tuple(name, value), { maxLength: 6 }), (asked, fields) => {
      const told = (what: string): string =>
        fields.flatMap(([each, said]) => (new RegExp(`^x-.*-${what}$`, 'i').test(each) ? [said] : [])).join();
      const itself = asked.startsWith('/_sallyport/authorize/') ? 'GET /x?y' : `${told('method')} ${told('uri')}`;
      const found = read(asked, ['Host', 'h', ...fields.flat()]);
      expect(found === itself || /^(?:forward_auth\.request|request\.\w+|route\.unknown)$/.test(found)).toBe(true);
    }),
    { numRuns: runs },
  );
});
