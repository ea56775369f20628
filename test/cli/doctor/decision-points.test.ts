import { expect, onTestFinished, test } from 'vitest';
import { examineDecisionPoints } from '../../../src/cli/doctor/doctor.ts';
import { loaded } from '../../config/folder.ts';
import { json, noMetadata, startPdp } from '../../support/decision-point.ts';
import { linesOf } from './found.ts';

/** The findings on a decision point, whose URL is `URL` in them. */
async function examined(
  metadata: (url: string) => object | undefined,
  policy = 'tools: { one: {} }',
): Promise<readonly string[]> {
  const pdp = await startPdp();
  onTestFinished(() => pdp.server.close());
  const { url } = pdp.server;
  const document = metadata(url);
  pdp.metadata = document === undefined ? noMetadata : json(200, JSON.stringify(document));
  const config = await loaded({
    yaml: `public_url: http://127.0.0.1:9
authorization_servers: { main: { issuer: "http://127.0.0.1:9", jwt: { algorithms: [RS256] } } }
decision_points: { acme: { url: "${url}", timeout: 5s }, unused: { url: "http://127.0.0.1:1" } }
routes:
  - { name: mcp, path: /mcp, protocol: mcp, policy: tools, decision_point: acme, upstream: { url: "http://127.0.0.1:9" } }
  - { name: api, path: /api, audience: a, decision_point: acme, upstream: { url: "http://127.0.0.1:9" } }
`,
    files: { 'policies/tools.yaml': policy },
  });
  const lines = await linesOf(examineDecisionPoints(config));
  expect(pdp.questions()).toEqual([]);
  return lines.map((line) => line.replaceAll(url, 'URL'));
}

const named = (url: string) => ({ policy_decision_point: url, access_evaluation_endpoint: `${url}/ask` });

test('says where each decision point that a route uses is asked', async () => {
  expect(await examined(() => undefined)).toEqual([
    'ok decision_points.acme: it has no metadata: the gateway asks URL/access/v1/evaluation',
  ]);
  expect(await examined((url) => ({ ...named(url), access_evaluations_endpoint: `${url}/lists` }))).toEqual([
    'ok decision_points.acme: its metadata name URL/ask',
  ]);
});

test('fails for metadata that are not used', async () => {
  expect(await examined((url) => ({ ...named(url), policy_decision_point: `${url}/` }))).toEqual([
    'fail decision_points.acme: the metadata have another policy_decision_point than url',
  ]);
});

test('fails if lists are filtered and the decision point decides on none', async () => {
  expect(await examined(named)).toEqual([
    'fail decision_points.acme: its metadata have no access_evaluations_endpoint: lists on mcp get 503',
  ]);
  expect(await examined(named, 'lists: show\ntools: { one: {} }')).toEqual([
    'ok decision_points.acme: its metadata name URL/ask',
  ]);
});
