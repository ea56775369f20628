import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { FrontDoor } from '../../../src/model/front-door.ts';
import type { Route } from '../../../src/model/route.ts';
import { createFrontDoorMetadata } from '../../../src/pipeline/respond/publish.ts';
import { recorded } from './recorded.ts';

const publicUrl = 'https://gateway.example';
const document = { issuer: 'https://gateway.example/signin' };

async function published(
  path: string,
  issuer: string | undefined,
  metadata?: () => Promise<object>,
  routes: readonly Route[] = [],
) {
  const frontDoor = issuer === undefined ? undefined : ({ issuer } as FrontDoor);
  const { call, answer } = recorded('GET', path);
  const isOurs = createFrontDoorMetadata({ frontDoor, publicUrl, routes }, metadata)(call);
  await setImmediate();
  return isOurs ? answer() : isOurs;
}

describe('the metadata of a front door at a path of the public origin', () => {
  test.each(['/.well-known/oauth-authorization-server/signin', '/.well-known/openid-configuration/signin'])(
    'are at %s',
    async (path) => {
      expect(await published(path, document.issuer, async () => document)).toMatchObject({
        status: 200,
        headers: { 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*' },
        body: JSON.stringify(document),
      });
    },
  );

  test('are at the bare path too, unless a public route answers there', async () => {
    const bare = '/.well-known/oauth-authorization-server';
    const at = (routes: readonly Partial<Route>[]) =>
      published(bare, document.issuer, async () => document, routes as readonly Route[]);
    const open = { public: true };
    expect(await at([{ ...open, path: '/other' }, { path: '/' }])).toMatchObject({ status: 200 });
    for (const path of ['/', '/.well-known', bare]) {
      expect(await at([{ ...open, path }])).toBe(false);
    }
  });

  test('answer 503 while the front door does not', async () => {
    const path = '/.well-known/oauth-authorization-server/signin';
    const answer = await published(path, document.issuer, () => Promise.reject(new Error('away')));
    expect(answer).toEqual({
      status: 503,
      headers: {
        'Access-Control-Allow-Origin': '*',
        'Retry-After': '1',
        'Content-Length': 0,
        'X-Request-Id': 'request-1',
      },
      body: '',
    });
  });
});

test.each([
  ['another path', '/.well-known/oauth-authorization-server/other', document.issuer],
  ['a path below', '/.well-known/oauth-authorization-server/signin/x', document.issuer],
  [
    'the path of another origin',
    '/.well-known/oauth-authorization-server/signin',
    'https://gateway.example.evil/signin',
  ],
  ['an issuer at the root', '/.well-known/oauth-authorization-server', 'https://gateway.example'],
  ['no front door', '/.well-known/oauth-authorization-server', undefined],
])('%s is not answered', async (_title, path, issuer) => {
  expect(await published(path, issuer, async () => document)).toBe(false);
});

test('nothing is answered without a client of the front door', async () => {
  expect(await published('/.well-known/oauth-authorization-server/signin', document.issuer)).toBe(false);
});
