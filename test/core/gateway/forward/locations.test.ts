import { describe, expect, test } from 'vitest';
import { createRewriteLocation } from '../../../../src/core/gateway/forward/locations.ts';
import type { Route } from '../../../../src/core/model/route.ts';

const rewriteOf = (path: string, base: string): ((value: string) => string) =>
  createRewriteLocation(
    { path, upstream: { origin: 'http://crm.internal:8080', path: base } } as Route,
    'https://gw.example',
  );
const crm = rewriteOf('/crm', '/api');
const root = rewriteOf('/crm', '');
const whole = rewriteOf('/', '');

describe('becomes the public address of the route', () => {
  test.each([
    ['http://crm.internal:8080/api/orders/1', crm, 'https://gw.example/crm/orders/1'],
    ['http://crm.internal:8080/api', crm, 'https://gw.example/crm'],
    ['http://crm.internal:8080/api/', crm, 'https://gw.example/crm/'],
    ['http://crm.internal:8080/api?a=b#c', crm, 'https://gw.example/crm?a=b#c'],
    ['/api/orders/1?next=/api/x', crm, 'https://gw.example/crm/orders/1?next=/api/x'],
    ['/api', crm, 'https://gw.example/crm'],
    ['/orders', root, 'https://gw.example/crm/orders'],
    ['http://crm.internal:8080', root, 'https://gw.example/crm'],
    ['http://crm.internal:8080/?q', root, 'https://gw.example/crm/?q'],
    ['http://crm.internal:8080/x', whole, 'https://gw.example/x'],
  ])('%s', (value, rewrite, wanted) => expect(rewrite(value)).toBe(wanted));
});

describe('passes as it is', () => {
  test.each([
    // Beside the upstream's path.
    ['http://crm.internal:8080/other', crm],
    ['http://crm.internal:8080/apis', crm],
    ['/apis/1', crm],
    ['/other', crm],
    // The route's own already.
    ['/crm/orders', root],
    ['/crm', root],
    ['/x', whole],
    // Other URLs, and other spellings.
    ['https://crm.internal:8080/api', crm],
    ['http://crm.internal/api', crm],
    ['http://CRM.internal:8080/api', crm],
    ['http://crm.internal:80800/api', crm],
    ['http://crm.internal:8080@evil.example/api', crm],
    ['http://crm.internal:8080.evil.example/api', crm],
    ['//crm.internal:8080/api', crm],
    ['orders/1', crm],
    ['', crm],
    ['?page=2', crm],
    // Dot segments and what is read as such.
    ['/api/../admin', crm],
    ['/api/%2e%2e/admin', crm],
    ['/api/..%2fadmin', crm],
    ['http://crm.internal:8080/api/./x', crm],
    ['/api\\..\\admin', crm],
    ['/api//x', crm],
  ])('%s', (value, rewrite) => expect(rewrite(value)).toBe(value));
});
