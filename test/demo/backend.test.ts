import { describe, expect, it } from 'vitest';

import { startBackend } from '../../demo/backend.ts';
import { startBeforeAll } from '../support/start-before.ts';

const backend = startBeforeAll(() => startBackend({ port: 0 }));

async function get(path: string, headers: Record<string, string> = {}): Promise<unknown> {
  const response = await fetch(backend.url + path, { headers });
  expect(response.status).toBe(200);
  return response.json();
}

describe('the demo API', () => {
  it('R-210: returns the caller from the gateway', async () => {
    const answer = { data: expect.any(String), user: 'alice', actor: null };
    expect(await get('/demo/data', { 'x-auth-subject': 'alice' })).toEqual(answer);
  });

  it('R-210: returns the risk as a number', async () => {
    const headers = { 'x-auth-subject': 'alice', 'x-auth-risk': '12' };
    expect(await get('/demo/highworthdata', headers)).toEqual({ data: expect.any(String), user: 'alice', risk: 12 });
  });

  it('returns the request on any other path, and only the presence of a credential', async () => {
    const echo = await get('/any/path?q=1', { authorization: 'Bearer secret-token', 'x-auth-subject': 'alice' });
    expect(echo).toMatchObject({ method: 'GET', path: '/any/path?q=1', user: 'alice', credential: true });
    expect(JSON.stringify(echo)).not.toContain('secret-token');
  });
});
