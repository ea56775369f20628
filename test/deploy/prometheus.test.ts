import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { metricRows } from '../../src/capabilities/all.ts';
import { revocationMetrics } from '../../src/capabilities/revocation/metrics.ts';
import { createMetrics, createOwnMetrics } from '../../src/core/telemetry/metrics.ts';

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
}
interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

const folder = new URL('../../deploy/', import.meta.url).pathname;
const dashboard = JSON.parse(await readFile(`${folder}grafana/sallyport.json`, 'utf8')) as Dashboard;
const alerts = parse(await readFile(`${folder}prometheus/alerts.yml`, 'utf8')) as Rules;

const page = await readFile(new URL('../../docs/monitoring.md', import.meta.url), 'utf8');
const shown = [...page.matchAll(/^\|.*\| `([^`|]+\))` +\|$/gm)].map(([, query = '']) => query);

const queries = [
  ...shown,
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...dashboard.annotations.list.map(({ expr }) => expr),
];
const conditions = alerts.groups.flatMap(({ rules }) => rules).map(({ expr }) => expr);

const program = process.env['PROMTOOL'] ?? 'promtool';
const hasPromtool = spawnSync(program, ['--version']).status === 0;
if (!hasPromtool) process.stdout.write('promtool is not on the PATH: the alert rules are not tested by it\n');

describe('the dashboard, the alerts and docs/monitoring.md', () => {
  test('use only metrics that exist', () => {
    expect(shown).toHaveLength(5);
    const known = new Set(
      [createMetrics(metricRows), createOwnMetrics(revocationMetrics)].flatMap(({ registry }) =>
        registry.getMetricsAsArray().map(({ name }) => name),
      ),
    );
    for (const query of [...queries, ...conditions]) {
      for (const [name] of query.matchAll(/\b(?:sallyport|nodejs|process)_[a-z0-9_]+/g)) {
        expect([...known]).toContain(name.replace(/_bucket$/, ''));
      }
    }
  });
  test('have a panel for each question of an operator', () => {
    expect(dashboard.panels.map(({ title }) => title)).toEqual(
      expect.arrayContaining(['Denials by reason', 'Denied tools', 'Failed calls', 'Decision latency']),
    );
    expect(conditions.length).toBeGreaterThanOrEqual(10);
  });
});

describe.skipIf(!hasPromtool)('promtool', () => {
  const promtool = (...parameters: readonly string[]) => promisify(execFile)(program, [...parameters]);

  test('each alert fires when it should, and not before', async () => {
    const { stdout } = await promtool('test', 'rules', `${folder}prometheus/alerts.test.yml`);
    expect(stdout).toContain('SUCCESS');
    const tests = await readFile(`${folder}prometheus/alerts.test.yml`, 'utf8');
    for (const { alert } of alerts.groups.flatMap(({ rules }) => rules)) expect(tests).toContain(`alertname: ${alert}`);
  });
  test('each query of the dashboard parses', async () => {
    const rules = queries.map((expr, index) => ({ record: `q:${index}`, expr: expr.replaceAll(/\$__\w+/g, '5m') }));
    const own = await mkdtemp(join(tmpdir(), 'sallyport-'));
    const file = join(own, 'rules.json');
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
    await expect(promtool('check', 'rules', file)).resolves.toMatchObject({
      stdout: expect.stringContaining(`${rules.length} rules found`),
    });
  });
});
