import { expect, test } from 'vitest';
import { startService } from './service.ts';
import { startBeforeAll } from '../support/start-before.ts';

const service = startBeforeAll(startService);

/** What is sent, and the reason that an operator finds without a debug level. */
const refusals: readonly (readonly [reason: string, send: () => Promise<unknown>])[] = [
  ['credentials.missing', () => service.send('/demo/data')],
  ['token.expired', async () => service.send('/demo/data', { token: await service.apiToken({ exp: 1 }) })],
  ['claim.denied', async () => service.send('/demo/highworthdata', { token: await service.apiToken({ risk: 50 }) })],
  ['tool.unlisted', () => service.message(service.agentToken(), 'tools/call', { name: 'close_account' })],
  ['route.method', () => service.send('/demo/data', { method: 'POST' })],
];

test.for(refusals)('R-166: logs %s at info, with what it wanted and found', async ([reason, send]) => {
  await service.gateway.clearLog();
  await send();
  const [line, ...others] = await service.gateway.decisions(1);
  expect(others).toEqual([]);
  expect(line).toMatchObject({ level: 'info', msg: 'decision', allow: false, reason });
  expect(line?.['detail']).toMatch(/\w+ \w+/);
});

// test/tokens/refusal-detail.test.ts has the table.
/** What a token says instead, and the detail that the log has. */
const tokens: readonly (readonly [claims: Record<string, unknown>, detail: RegExp])[] = [
  [{ aud: 'https://other.example' }, /^aud is "https:\/\/other\.example"; accepted: "https:\/\/api\.demo\.example"$/],
  [{ exp: 1 }, /^exp is \d+ d ago; clock_tolerance is 5 s$/],
  [{ aud: 'a\u202eb' }, /^aud is "a\\u\{202e\}b"; accepted: /],
];

test.for(tokens)('R-214: logs what a refused token says, and what the route accepts: %j', async ([claims, detail]) => {
  const token = await service.apiToken(claims);
  await service.gateway.clearLog();
  const { text, headers } = await service.send('/demo/data', { token });
  const [line] = await service.gateway.decisions(1);
  expect(line?.['detail']).toMatch(detail);
  // The client learns that its token is refused, and nothing of what was expected.
  expect({ text, challenge: headers.get('www-authenticate') }).toEqual({
    text: '',
    challenge: 'Bearer error="invalid_token"',
  });
});

test('R-166: logs the decision id of the answer', async () => {
  const { text } = await service.send('/demo/highworthdata', { token: await service.apiToken({ risk: 77 }) });
  const { decision } = JSON.parse(text) as { decision: string };
  expect(await service.gateway.line({ msg: 'decision', decision })).toMatchObject({
    reason: 'claim.denied',
    detail: 'claim risk: wanted an integer below 50, found 77',
    subject: 'alice',
    policy: expect.stringMatching(/^demo-high-worth@[0-9a-f]{12}$/) as string,
    rule: 'claims.risk',
  });
});

test('R-167: logs no token and no secret', async () => {
  const jwt = await service.apiToken({ risk: 50 });
  const opaque = service.agentToken();
  await service.gateway.clearLog();
  await service.send('/demo/highworthdata', { token: jwt });
  await service.send('/demo/data', { token: `${jwt}x` });
  await service.message(opaque, 'tools/list');
  await service.send('/demo/data', { token: opaque });
  await service.gateway.decisions(4);
  const log = JSON.stringify(await service.gateway.lines());
  for (const secret of [...jwt.split('.'), opaque, 'exchanged', 'gateway-secret']) expect(log).not.toContain(secret);
});
