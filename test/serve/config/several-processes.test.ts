import { describe, expect, test } from 'vitest';
import { load } from '../../../src/serve/config/load.ts';
import { requireShared } from '../../../src/serve/config/several-processes.ts';
import { writeFrontDoorFiles } from '../../worlds/front-door.ts';
import { outcomeIn } from '../../commands/run.ts';
import { edited, folderWith } from './folder.ts';

const route = (keys: string) => edited(['path: /api', `path: /api\n    ${keys}`]);
const mcp = route('protocol: mcp\n    policy: orders');
const approvals = 'approvals: { authorization_servers: [main] }\n';

/** What several processes must know together: the configuration, its policy, and the reason in words. */
const needs: readonly (readonly [title: string, yaml: string, policy: string, because: string])[] = [
  ['a rate', route('rate: { requests: 10, per: 1s }'), '', 'the route api has a rate'],
  ['the rate of all routes', `${edited()}limits: { rate: { requests: 1, per: 1s } }\n`, '', 'the route api has a rate'],
  ['a quota', mcp, 'tools: { pay: { quota: [{ count: 5, per: 1h }] } }', 'the policy orders has quotas'],
  [
    'a quota in shadow',
    mcp,
    'mode: shadow\ntools: { pay: { quota: [{ count: 5, per: 1h }] } }',
    'the policy orders has quotas',
  ],
  [
    'another rule over time',
    mcp,
    'tools: { look: {}, pay: { after: { tool: look, within: 1h } } }',
    'the policy orders has rules over time',
  ],
  [
    'approvals',
    mcp + approvals,
    'tools: { pay: { approval: { by: { claims: { role: boss } } } } }',
    'the policy orders has approvals',
  ],
  ['DPoP', route('dpop: {}'), '', 'the route api takes DPoP proofs'],
  ['revocation', `${edited()}revocation: {}\n`, '', 'it has revocation'],
];

async function problemsOf(yaml: string, policy: string, workers = 4): Promise<string> {
  const folder = await folderWith({ yaml, files: { 'policies/orders.yaml': policy || '{}' } });
  const loaded = await load(`${folder}/gateway.yaml`);
  try {
    requireShared(loaded, 'gateway.yaml', { workers, withoutFrontDoor: false });
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('several processes', () => {
  test.each(needs)('R-348: %s needs `shared`', async (_, yaml, policy, because) => {
    expect(await problemsOf(yaml, policy)).toBe(`gateway.yaml: --workers 4 needs \`shared\`, because ${because}`);
    expect(await problemsOf(yaml, policy, 1)).toBe('');
    const store = 'shared: redis://127.0.0.1:1\nsession_key: k3y-of-at-least-thirty-two-characters\n';
    expect(await problemsOf(yaml + store, policy)).toBe('');
  });

  test('R-348: what each process knows for itself needs no store', async () => {
    expect(await problemsOf(mcp, 'tools: { pay: {} }')).toBe('');
    expect(await problemsOf(`${edited()}limits: { failures: { requests: 1, per: 1s } }\n`, '')).toBe('');
  });

  test('R-348: a front door of their own needs `shared`', async () => {
    const files = await writeFrontDoorFiles();
    try {
      const loaded = await load(`${files.folder}/gateway.yaml`);
      const required = (withoutFrontDoor: boolean) => () =>
        requireShared(loaded, 'gateway.yaml', { workers: 2, withoutFrontDoor });
      expect(required(false)).toThrow('needs `shared`, because the gateway starts its front door');
      expect(required(true)).not.toThrow();
    } finally {
      await files.close();
    }
  });

  test.each(['serve', 'check'])('R-348: %s --workers refuses by name', async (command) => {
    const situation = {
      yaml: `${mcp}revocation: {}\n`,
      files: { 'policies/orders.yaml': 'tools: { pay: { quota: [{ count: 5, per: 1h }] } }' },
    };
    expect(await outcomeIn(situation, [command, '--workers', '4'])).toEqual({
      code: 1,
      stdout: '',
      stderr: [
        'gateway.yaml: --workers 4 needs `shared`, because the policy orders has quotas',
        'gateway.yaml: --workers 4 needs `shared`, because it has revocation',
        'gateway.yaml: 2 problems',
        '',
      ].join('\n'),
    });
  });
});
