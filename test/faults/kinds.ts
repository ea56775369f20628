import { randomUUID } from 'node:crypto';
import { createProver } from '../support/prover.ts';
import { bigBody, events, receipt, upload } from './answers.ts';
import { inAWeek, type Bed } from './bed.ts';
import { call, callSocket, type Seen, type Sent } from './seen.ts';

/** A call that is made again and again, of which it is known what is right. */
export interface Kind {
  readonly name: string;
  /** When nothing is wrong. */
  readonly status: number;
  /** The body of a right answer, which a broken one must begin like. */
  readonly body: string | undefined;
  /** Whether the upstream may ever see it. */
  readonly permitted: boolean;
  readonly send: () => Promise<Seen>;
}

const toolCall = (name: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: {} } });
const toolAnswer = JSON.stringify({ jsonrpc: '2.0', id: 7, result: { content: [{ type: 'text', text: 'done' }] } });
const json = { 'content-type': 'application/json' };

/** Every kind of call, for one bed. */
export async function kindsOf(bed: Bed): Promise<readonly Kind[]> {
  const [reader, stranger, elsewhere, expired] = await Promise.all([
    bed.token(),
    bed.token({ scope: 'other' }),
    bed.token({ aud: 'elsewhere' }),
    bed.token({ exp: Math.floor(Date.now() / 1000) - 600 }),
  ]);
  const prover = await createProver('ES256', bed.clock);
  const bound = await bed.token({ cnf: prover.cnf });
  const forged = `${reader.slice(0, -8)}AAAAAAAA`;
  const known = opaque();

  function opaque(claims: object = {}): string {
    return bed.server.opaque({ aud: 'r', scope: 'read', exp: inAWeek(), ...claims });
  }
  function permitted(name: string, body: string, send: () => Promise<Seen>): Kind {
    return { name, status: 200, body, permitted: true, send };
  }
  function refused(name: string, status: number, path: string, token: string, sent: Sent = {}): Kind {
    return { name, status, body: undefined, permitted: false, send: () => as(token, path, sent) };
  }
  function as(token: string, path: string, { headers, ...sent }: Sent = {}): Promise<Seen> {
    return call(bed, path, { ...sent, headers: { ...headers, authorization: `Bearer ${token}` } });
  }

  const proof = (): Promise<Sent['headers'] & object> =>
    prover.headers({ url: 'http://gateway.test/proven', token: bound });
  /** Shows a proof that was taken; where it was not, that is the answer. */
  async function again(): Promise<Seen> {
    const headers = await proof();
    const first = await call(bed, '/proven', { headers });
    if (first.status !== 200) return first;
    const second = await call(bed, '/proven', { headers });
    // Whatever the upstream then made of it: it was let through.
    return second.status === 502 || second.status === 504 ? { ...second, status: 200 } : second;
  }

  return [
    permitted('a reader', 'ok', () => as(reader, '/api')),
    permitted('a large answer', bigBody, () => as(reader, '/api/big')),
    permitted('an event stream', events.join(''), () => as(reader, '/api/events')),
    permitted('an upload', receipt, () => as(reader, '/api/upload', { method: 'POST', body: upload })),
    permitted('a known opaque token', 'ok', () => as(known, '/api')),
    permitted('a new opaque token', 'ok', () => as(opaque(), '/api')),
    permitted('a tool', toolAnswer, () =>
      as(reader, '/mcp', { method: 'POST', headers: json, body: toolCall('get_a') }),
    ),
    permitted('a token to exchange', 'ok', () => as(opaque(), '/exchanged')),
    permitted('no token on a public route', 'ok', () => call(bed, '/public')),
    { ...permitted('a WebSocket', 'echo', () => callSocket(bed, '/api', bearer(reader))), status: 101 },
    permitted('a proof of possession', 'ok', async () => call(bed, '/proven', { headers: await proof() })),
    { ...refused('the same proof again', 401, '/proven', ''), permitted: true, send: again },
    refused('a caller without the scope', 403, '/api', stranger),
    refused('a token for elsewhere', 401, '/api', elsewhere),
    refused('an expired token', 401, '/api', expired),
    refused('a forged token', 401, '/api', forged, { method: 'POST', body: 'x' }),
    refused('an expired token to exchange', 401, '/exchanged', expired),
    refused('a tool that is not listed', 403, '/mcp', reader, {
      method: 'POST',
      headers: json,
      body: toolCall('set_a'),
    }),
    { ...refused('a made-up token', 401, '/api', ''), send: () => as(`made-up-${randomUUID()}`, '/api') },
    { ...refused('a WebSocket of a stranger', 403, '/api', ''), send: () => callSocket(bed, '/api', bearer(stranger)) },
  ];
}

function bearer(token: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}` };
}
