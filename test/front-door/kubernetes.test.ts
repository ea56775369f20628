/** The recipe for Kubernetes of docs/front-door.md, with service account tokens as a cluster issues them. */
import { randomUUID } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { postMessage } from '../support/mcp-message.ts';
import { keepSecret } from '../support/secrecy.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';
import { startFrontDoorWorld } from '../worlds/front-door.ts';
import { oauthClient } from '../worlds/oauth-client.ts';

const secret = 'the-secret-of-the-report-job';
keepSecret(secret);
const cluster = startBeforeAll(async () => publishingAsCluster(await startIssuer()));
const world = startBeforeAll(() =>
  startFrontDoorWorld({
    top: `authorization_servers: { cluster: { issuer: "${cluster.url}", jwt: { algorithms: [RS256] } } }`,
    frontDoor: `clients:
    registered: { report: { client_secret: ${secret}, redirect_uris: ["http://127.0.0.1:*/callback"] } }
  assertions: { cluster: { issuer: "${cluster.url}", clients: [report], scopes: [read] } }`,
    policies: { jobs: 'claims: { /kubernetes.io/namespace: finance }\ntools:\n  list_*: {}\n' },
    routeLines: `  - name: jobs
    path: /jobs
    protocol: mcp
    resource: { name: Tools for jobs }
    authorization_servers: [cluster]
    policy: jobs
    upstream: { url: "http://127.0.0.1:9/mcp" }`,
  }),
);
beforeEach(() => void (world.observed as string[]).splice(0));

/** Documents and paths of an API server with `--service-account-issuer`. */
function publishingAsCluster(issuer: Issuer): Issuer {
  const documents: Record<string, () => object> = {
    '/.well-known/openid-configuration': () => ({
      issuer: issuer.url,
      jwks_uri: `${issuer.url}/openid/v1/jwks`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    }),
    '/openid/v1/jwks': () => ({ keys: issuer.keys }),
  };
  issuer.intercept = ({ url = '' }, response) => {
    const document = documents[url]?.();
    sendJson(response, document === undefined ? 404 : 200, document ?? { kind: 'Status', code: 404 });
    return true;
  };
  return issuer;
}

/** A projected token: no `typ`, no client and no scope. */
function projected({ audience = new URL('/jobs', world.mcpUrl).href, namespace = 'finance' } = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  return cluster.sign(
    {
      aud: [audience],
      exp: now + 600,
      iat: now,
      nbf: now,
      jti: randomUUID(),
      'kubernetes.io': {
        namespace,
        node: { name: 'node-1', uid: randomUUID() },
        pod: { name: 'report-29384-x7k2p', uid: randomUUID() },
        serviceaccount: { name: 'report', uid: randomUUID() },
      },
      sub: `system:serviceaccount:${namespace}:report`,
    },
    { header: { typ: undefined } },
  );
}

async function reasonFor(token: string, path = '/jobs'): Promise<unknown> {
  const response = await postMessage(new URL(path, world.mcpUrl), { method: 'tools/list', token });
  await response.body?.cancel();
  const { allow, reason, subject } = await world.decision();
  return allow === true ? subject : reason;
}

test('R-272: a route that trusts the cluster accepts a token for its resource, and decides by its claims', async () => {
  expect(await reasonFor(await projected())).toBe('system:serviceaccount:finance:report');
  expect(await reasonFor(await projected({ namespace: 'default' }))).toBe('claim.denied');
  expect(await reasonFor(await projected({ audience: 'https://kubernetes.default.svc' }))).toBe('token.audience');
});

test('R-272: it opens no route that trusts the front door alone', async () => {
  expect(await reasonFor(await projected({ audience: world.mcpUrl.href }), '/mcp')).toBe('token.form');
});

test('R-272: the front door takes it neither as an assertion nor as the authentication of a client', async () => {
  const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
  const client = oauthClient(world.issuer, 'report', undefined, { client_secret: secret });
  const assertion = await projected({ audience: world.issuer });
  expect((await client.post({ grant_type: grant, assertion })).body).toMatchObject({ error: 'invalid_grant' });
  expect(world.observed).toEqual([expect.stringContaining('"typ"')]);
  const form = {
    grant_type: grant,
    assertion,
    client_assertion: await projected({ audience: world.issuer }),
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  };
  const { status, body } = await oauthClient(world.issuer, 'report').post(form);
  expect([status, body['error']]).toEqual([400, 'invalid_request']);
});
