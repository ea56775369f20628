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

  it('returns the actor', async () => {
    const headers = { 'x-auth-subject': 'alice', 'x-auth-actor': 'gateway' };
    expect(await get('/demo/data', headers)).toMatchObject({ user: 'alice', actor: 'gateway' });
  });

  it('R-210: returns the risk as a number', async () => {
    const headers = { 'x-auth-subject': 'alice', 'x-auth-risk': '12' };
    expect(await get('/demo/highworthdata', headers)).toEqual({ data: expect.any(String), user: 'alice', risk: 12 });
  });

  it('has no caller without the gateway', async () => {
    const answer = { data: expect.any(String), user: null, risk: null };
    expect(await get('/demo/highworthdata', { authorization: 'Bearer x' })).toEqual(answer);
  });

  it('returns the request on any other path, and only the presence of a credential', async () => {
    const echo = await get('/any/path?q=1', { authorization: 'Bearer secret-token', 'x-auth-subject': 'alice' });
    expect(echo).toMatchObject({ method: 'GET', path: '/any/path?q=1', user: 'alice', credential: true });
    expect(JSON.stringify(echo)).not.toContain('secret-token');
  });

  it('answers a request with a body and the next one on the same connection', async () => {
    const response = await fetch(`${backend.url}/anything`, { method: 'POST', body: 'x'.repeat(100_000) });
    expect(await response.json()).toMatchObject({ method: 'POST' });
    expect(await get('/public/status')).toEqual({ status: 'open to every caller' });
  });

  it('streams events as they happen', async () => {
    const response = await fetch(`${backend.url}/events?count=2`);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const events = (await response.text()).trim().split('\n\n');
    expect(events).toHaveLength(2);
    expect(events[0]).toMatch(/^event: message\ndata: \{"tick":1,/);
  });

  it('stops although a stream is open', async () => {
    const other = await startBackend({ port: 0 });
    const response = await fetch(`${other.url}/events`);
    await other.close();
    await expect(response.text()).rejects.toThrow('terminated');
  });
});
