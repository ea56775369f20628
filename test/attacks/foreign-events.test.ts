import { describe, expect, test } from 'vitest';
import { bodyOf, fieldOf, modernPost, post } from './requests.ts';
import { startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { lastHead } from '../support/raw.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** One row of numbers for the events of all sessions, as stores behind several sessions have it. */
const events = `id: 41\ndata: "${UPSTREAM_TEXT}"\n\nid: 42\r\n\r\nevent: x\rid:43\r\rid:\n\ndata: {}\n\n`;
const initialize = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}';
const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

let sessions = 0;
const world = startBeforeAll(() =>
  startAttackWorld({
    routes: [
      'name: other, path: /other, protocol: mcp, audience: "http://gateway.test/mcp", policy: tools, upstream: { url: "UPSTREAM/mcp" }',
    ],
    answer: (_request, response, body) => {
      const type = { 'content-type': 'text/event-stream', 'content-digest': 'sha-256=:AAAA:' };
      const session = body.includes('initialize') ? { 'mcp-session-id': `session-${(sessions += 1)}` } : {};
      response.writeHead(200, { ...type, ...session }).end(events);
    },
  }),
);

const by = async (sub: string): Promise<string> => `Authorization: Bearer ${await world.token({ sub })}`;

/** A session of `sub`'s, and the id of an event that its stream showed. */
async function opened(sub: string, sent = initialize): Promise<{ session: string; event: string; text: string }> {
  const { answers } = await world.forwards(post(await by(sub), sent), 'POST /mcp');
  const event = /^id: (\S+)$/m.exec(answers[0] ?? '')?.[1] ?? '';
  return { session: fieldOf(answers[0], 'mcp-session-id') ?? '', event, text: answers[0] ?? '' };
}

const resume = (authorization: string, event: string, session?: string, path = '/mcp'): string => {
  const own = session === undefined ? [] : [`Mcp-Session-Id: ${session}`];
  return lastHead(`GET ${path}`, authorization, 'Accept: text/event-stream', ...own, `Last-Event-ID: ${event}`);
};

const refused = (attack: string | Buffer) => world.refuses(attack, 404, 'handle.unknown');

describe('Last-Event-ID', () => {
  test('binds each id of a stream, and changes nothing else', async () => {
    const { text } = await opened('alice');
    const ids = [...text.matchAll(/(?<=[\r\n])id: ?([\w-]+\.[\w-]{22})(?=[\r\n])/g)].map(([, id]) => id as string);
    expect(ids.map((id) => Buffer.from(id.slice(0, -23), 'base64url').toString())).toEqual(['41', '42', '43']);
    const unbound = ids.reduce((all, id, i) => all.replace(id, String(41 + i)), text);
    expect(unbound.replaceAll(/\r\n[\da-f]+\r\n/g, '')).toContain(events.slice(0, 20));
    expect(fieldOf(text, 'content-digest')).toBeUndefined();
  });

  test('R-113: resumes the caller’s own stream in its session', async () => {
    const { session, event } = await opened('alice');
    const { reached } = await world.forwards(resume(await by('alice'), event, session), 'GET /mcp');
    expect(reached[0]?.headers['last-event-id']).toBe('41');
  });

  // test/mcp/bindings.test.ts has the table of ids.
  test('R-113: refuses an id of another person, of the caller’s other session or of none, and a made-up one', async () => {
    const [one, other, bobs] = [await opened('alice'), await opened('alice'), await opened('bob')];
    const none = await opened('alice', ping);
    const alice = await by('alice');
    for (const sent of [
      resume(alice, bobs.event, one.session),
      resume(alice, one.event, other.session),
      resume(alice, one.event),
      resume(alice, none.event, one.session),
      resume(alice, none.event, undefined, '/other'),
      resume(alice, '42', one.session),
    ]) {
      await refused(sent);
    }
    const { answers } = await refused(post(alice, ping, 'Last-Event-ID: 42'));
    expect(bodyOf(answers[0])).toMatchObject({ id: 1, error: { code: -32602 } });
  });
});

test('MCP 2026-07-28, which resumes no stream, leaves the ids of events, and no legacy request can present one', async () => {
  const { answers } = await world.forwards(modernPost(await by('alice'), 'prompts/list', {}), 'POST /mcp');
  expect([...(answers[0] ?? '').matchAll(/(?<=[\r\n])id: ?(\d+)(?=[\r\n])/g)].map(([, id]) => id)).toEqual([
    '41',
    '42',
    '43',
  ]);
  await refused(resume(await by('alice'), '42'));
});
