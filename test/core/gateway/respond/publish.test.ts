import { expect, test } from 'vitest';
import type { Config } from '../../../../src/ports/config.ts';
import { Denial } from '../../../../src/core/model/denial.ts';
import { createPublish } from '../../../../src/core/gateway/respond/publish.ts';
import { recorded } from './recorded.ts';

const route = (path: string): object => ({ path, resource: {}, authorizationServers: [] });
const wellKnown = '/.well-known/oauth-protected-resource';
const open = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '86400',
};

function published(method: string, path: string, routes = [route('/mcp')]) {
  const config = { publicUrl: 'https://gateway.example', routes } as unknown as Config;
  const { call, answer } = recorded(method, path);
  try {
    return createPublish(config, [])(call) ? answer() : 'not ours';
  } catch (error) {
    return (error as Denial).reason;
  }
}

test.each([
  [
    `${wellKnown}/mcp`,
    'application/json',
    '{"resource":"https://gateway.example/mcp","authorization_servers":[],"bearer_methods_supported":["header"]}',
  ],
])('any page may read %s', (path, type, body) => {
  const headers = {
    ...open,
    'Content-Type': type,
    'Cache-Control': 'public, max-age=300',
    'Content-Length': body.length,
    'X-Request-Id': 'request-1',
  };
  expect(published('GET', path)).toEqual({ status: 200, headers, body });
  expect(published('HEAD', path)).toMatchObject({ status: 200, headers });
  expect(published('OPTIONS', path)).toEqual({
    status: 204,
    headers: { ...open, 'X-Request-Id': 'request-1' },
    body: '',
  });
  expect(published('POST', path)).toMatchObject({ status: 405, headers: { ...open, Allow: 'GET, HEAD, OPTIONS' } });
});

// resource-metadata.test.ts has the paths of documents.
test('R-7: a document is found below its resource too', () => {
  expect(published('GET', `/mcp${wellKnown}`)).toMatchObject({ status: 200 });
});

test.each([
  [`${wellKnown}/other`, 'route.unknown'],
  [wellKnown, 'route.unknown'],
  [`${wellKnown}-other`, 'not ours'],
  ['/a', 'not ours'],
])('%s without a document → %s', (path, found) => {
  expect(published('GET', path, [route('/a'), route('/b')])).toBe(found);
});
