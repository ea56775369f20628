import { expect, test } from 'vitest';
import { certificateThumbprint } from '../../src/core/lib/digest.ts';
import { x509 } from '../support/certificates.ts';
import { startWorld, type World } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** Behind a proxy that verifies certificates, behind one that reports addresses only, and behind none. */
const [trusting, addressing, plain] = ['certificate_proxies: [127.0.0.0/8]', 'trusted_proxies: [127.0.0.0/8]', ''].map(
  (top) =>
    startBeforeAll(() =>
      startWorld({
        top,
        routes: [
          'name: api, path: /api, audience: a, upstream: { url: "UPSTREAM" }',
          'name: public, path: /public, public: true, upstream: { url: "UPSTREAM" }',
        ],
      }),
    ),
) as [World, World, World];

const base64 = (name: string): string => x509(name).raw.toString('base64');
const mine = `Client-Cert: :${base64('client')}:`;

/** The status that a token gets which is bound to the certificate `client`, with these lines of a header section. */
async function bound(world: World, ...lines: readonly string[]): Promise<[status: number, reason: unknown]> {
  const token = await world.issuer.sign({ aud: 'a', cnf: { 'x5t#S256': certificateThumbprint(x509('client').raw) } });
  const answer = await world.sendRaw(
    'GET /api HTTP/1.1',
    'Host: gateway.test',
    `Authorization: Bearer ${token}`,
    ...lines,
  );
  return [Number(answer.slice(9, 12)), (await world.gateway.decision())['reason']];
}

// test/core/gateway/listen/trusted-proxies.test.ts has the table of values.
test.for([
  ['reads a Byte Sequence', mine, 200, undefined],
  ['answers 400 for any other form', `Client-Cert: ${base64('client')}`, 400, 'request.certificate'],
] as const)('R-75, RFC 9440 §2.1: %s', async ([, line, status, reason]) => {
  expect(await bound(trusting, line)).toEqual([status, reason]);
});

test('R-76, RFC 9440 §2.2: takes another certificate for another client', async () => {
  expect(await bound(trusting, `Client-Cert: :${base64('self-signed')}:`)).toEqual([401, 'token.binding']);
});

test.for([
  ['without the field', []],
  ['in the chain alone', [`Client-Cert-Chain: :${base64('client')}:`]],
  ['under another spelling', [`Client_Cert: :${base64('client')}:`]],
] as const)('R-76, RFC 9440 §2.2: finds no certificate: %s', async ([, lines]) => {
  expect(await bound(trusting, ...lines)).toEqual([401, 'token.binding']);
});

test('R-76, RFC 9440 §2.2: refuses two fields, even if they are the same', async () => {
  expect(await bound(trusting, mine, mine)).toEqual([400, 'request.duplicate_header']);
});

test('R-77, RFC 9440 §2.4: ignores the header from any other peer', async () => {
  for (const world of [plain, addressing]) {
    expect(await bound(world, mine)).toEqual([401, 'token.binding']);
    expect(await bound(world, mine, mine)).toEqual([401, 'token.binding']);
    expect(await bound(world, 'Client-Cert: nonsense')).toEqual([401, 'token.binding']);
  }
});

test('R-77, RFC 9440 §2.4: removes both fields before it forwards', async () => {
  for (const world of [trusting, addressing, plain]) {
    world.upstream.seen.length = 0;
    await world.sendRaw('GET /public HTTP/1.1', 'Host: gateway.test', mine, `Client-Cert-Chain: :${base64('ca')}:`);
    expect(world.upstream.seen).toHaveLength(1);
    expect(world.upstream.seen[0]?.rawHeaders.join()).not.toMatch(/cert/i);
  }
});
