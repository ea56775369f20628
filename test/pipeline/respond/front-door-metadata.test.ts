import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { FrontDoor } from '../../../src/model/front-door.ts';
import { createFrontDoorMetadata } from '../../../src/pipeline/respond/front-door-metadata.ts';
import { recorded } from './recorded.ts';

const publicUrl = 'https://gateway.example';
const document = { issuer: 'https://gateway.example/signin' };

async function published(path: string, issuer: string | undefined, metadata?: () => Promise<object>) {
  const frontDoor = issuer === undefined ? undefined : ({ issuer } as FrontDoor);
  const { call, answer } = recorded('GET', path);
  const isOurs = createFrontDoorMetadata({ frontDoor, publicUrl }, metadata)(call);
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
  ['another path', '/.well-known/oauth-authorization-server', document.issuer],
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
