import { expect, test } from 'vitest';
import { isServedBelow } from '../../src/policy-files/served-requests.ts';

test.each<readonly [name: string, own: readonly string[], others: readonly string[], isServed: boolean]>([
  ['GET /api', ['/api'], [], true],
  ['GET /api/x', ['/api'], [], true],
  ['GET /apis', ['/api'], [], false],
  ['GET /', ['/api'], [], false],
  ['GET /x', ['/'], [], true],
  ['GET /**', ['/api'], [], true],
  ['GET /*', ['/api'], [], true],
  ['GET /*', ['/api/x'], [], false],
  ['GET /*/**', ['/api/x'], [], true],
  ['GET /api/', ['/api'], [], true],
  ['GET /api/x', ['/api'], ['/api/x'], false],
  ['GET /api/x/**', ['/api'], ['/api/x'], false],
  ['GET /api/x/**', ['/api', '/api/x/y'], ['/api/x'], true],
  ['GET /api/*', ['/api'], ['/api/x'], true],
  ['GET /*/x', ['/api'], ['/api/x'], false],
  ['GET /x', ['/'], ['/x'], false],
  ['GET /api/x', ['/api'], ['/api'], true],
  ['GET /api/**', ['/api/'], [], true],
])('R-296: whether %s is served by the routes %j beside %j: %s', (name, own, others, isServed) => {
  expect(isServedBelow(name, own, others)).toBe(isServed);
});
