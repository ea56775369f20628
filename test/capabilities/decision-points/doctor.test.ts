import { expect, onTestFinished, test } from 'vitest';
import { examineDecisionPoints } from '../../../src/capabilities/decision-points/doctor.ts';
import { loaded } from '../../serve/config/folder.ts';
import { json, noMetadata, startPdp } from '../../support/decision-point.ts';
import { linesOf } from '../../commands/doctor/found.ts';

/** The findings on a decision point, whose URL is `URL` in them. */
async function examined(
  metadata: (url: string) => object | undefined,
  policy = 'tools: { one: {} }',
): Promise<readonly string[]> {
  const pdp = await startPdp();
  onTestFinished(() => pdp.server.close());
  const { url } = pdp.server;
  const document = metadata(url);
  pdp.metadata = document === undefined ? noMetadata : json(200, document);
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

test.each<[title: string, metadata: (url: string) => object | undefined, line: string, policy?: string]>([
  [
    'where it is asked without metadata',
    () => undefined,
    'ok : it has no metadata: the gateway asks URL/access/v1/evaluation',
  ],
  [
    'where its metadata say',
    (url) => ({ ...named(url), access_evaluations_endpoint: `${url}/lists` }),
    'ok : its metadata name URL/ask',
  ],
  [
    'that its metadata are not used',
    (url) => ({ ...named(url), policy_decision_point: `${url}/` }),
    'fail : the metadata have another policy_decision_point than url',
  ],
  [
    'that lists are filtered, and it decides on none',
    named,
    'fail : its metadata have no access_evaluations_endpoint: lists on mcp get 503',
  ],
  ['nothing of lists that are shown', named, 'ok : its metadata name URL/ask', 'lists: show\ntools: { one: {} }'],
])('says of each decision point that a route uses %s', async (_title, metadata, line, policy) => {
  expect(await examined(metadata, policy)).toEqual([line.replace(' :', ' decision_points.acme:')]);
});
