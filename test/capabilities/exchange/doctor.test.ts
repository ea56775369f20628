import { expect, test } from 'vitest';
import { examineExchanges } from '../../../src/capabilities/exchange/doctor.ts';
import type { Finding } from '../../../src/capabilities/finding.ts';
import { loaded } from '../../serve/config/folder.ts';
import { startIssuer } from '../../support/issuer.ts';
import { startBeforeEach } from '../../support/start-before.ts';
import { sendJson } from '../../support/upstream.ts';

const issuer = startBeforeEach(startIssuer);

async function examined(url = issuer.url, more = ''): Promise<readonly Finding[]> {
  const exchange = `server: main, client_id: gateway, client_secret: "s:3cr3t", audience: api${more}`;
  return examineExchanges(
    await loaded({
      yaml: `public_url: http://127.0.0.1:8080
authorization_servers: { main: { issuer: "${url}", jwt: { algorithms: [RS256] } } }
routes:
  - { name: api, path: /api, audience: a, upstream: { url: "http://127.0.0.1:9", token: exchange, exchange: { ${exchange} } } }
  - { name: other, path: /other, audience: a, upstream: { url: "http://127.0.0.1:9" } }
`,
    }),
  );
}

const issued = {
  access_token: 't',
  token_type: 'Bearer',
  issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
};

test.for<[status: number, answer: object, finding: Finding['status'], text: string, remedy: string]>([
  [
    400,
    { error: 'invalid_grant' },
    'ok',
    'accepts the credentials of gateway, and refuses a made-up token (invalid_grant)',
    '',
  ],
  [400, { error: 'invalid_request' }, 'ok', 'accepts the credentials of gateway', ''],
  [400, { error: 'unsupported_grant_type' }, 'fail', 'unsupported_grant_type', 'enable token exchange'],
  [400, { error: 'unauthorized_client' }, 'fail', 'unauthorized_client', 'allow the client'],
  [400, { error: 'invalid_target' }, 'fail', 'invalid_target', 'set exchange.audience'],
  [400, { error: 'invalid_scope' }, 'fail', 'invalid_scope', 'set exchange.scope'],
  [403, {}, 'warn', 'answers 403 no error', 'look at its log'],
  [401, { error: 'invalid_client' }, 'fail', 'refuses the credentials of gateway (401)', 'no spelling'],
  [200, issued, 'fail', 'exchanges a made-up token', 'repair it there'],
  [200, {}, 'fail', 'issued_token_type', 'check exchange'],
])('an answer of %i %j is %s', async ([status, answer, finding, text, remedy]) => {
  issuer.answerAt('/token', (_, response) => sendJson(response, status, answer));
  const [found, ...others] = await examined();
  expect(found).toMatchObject({ status: finding, subject: 'routes.api.upstream.exchange' });
  expect(found?.text).toContain(text);
  expect(found?.remedy ?? '').toContain(remedy);
  expect([found?.remedy === undefined, others]).toEqual([finding === 'ok', []]);
});

test('a secret that the server reads in the body has that remedy', async () => {
  issuer.answerAt('/token', (_, response, body) => {
    const isInBody = new URLSearchParams(body).get('client_secret') === 's:3cr3t';
    sendJson(response, isInBody ? 400 : 401, { error: isInBody ? 'invalid_grant' : 'invalid_client' });
  });
  expect((await examined())[0]?.remedy).toContain('set client_auth: client_secret_post');
});

test('the token of the gateway itself is asked for first', async () => {
  issuer.answerAt('/token', (_, response) => sendJson(response, 400, { error: 'unauthorized_client' }));
  expect(await examined(issuer.url, ', actor: client_credentials')).toMatchObject([{ status: 'fail' }]);
  expect(issuer.requestsTo('/token').map(({ body }) => new URLSearchParams(body).get('grant_type'))).toEqual([
    'client_credentials',
  ]);
});

test('a server that is away fails', async () => {
  expect(await examined('http://127.0.0.1:9')).toMatchObject([{ status: 'fail' }]);
});
