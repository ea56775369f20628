/**
 * The workflow that publishes, by what an attacker would use: a moved tag of an action, a permission that no step needs,
 * a name of a branch or tag in a script.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

interface Job {
  readonly needs?: string;
  readonly environment?: string;
  readonly permissions: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

const text = readFileSync('.github/workflows/publish.yml', 'utf8');
const workflow = parse(text) as { readonly permissions: object; readonly jobs: Readonly<Record<string, Job>> };
const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);

test('each action is pinned by commit, with its version beside it', () => {
  const used = text.match(/uses: .*/g) ?? [];
  expect(used).toHaveLength(steps.filter(({ uses }) => uses !== undefined).length);
  for (const line of used) expect(line).toMatch(/^uses: actions\/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test('each job has only the permissions that it needs, and nothing is published before every check passed', () => {
  expect(workflow.permissions).toEqual({});
  const { check, ...publishing } = workflow.jobs;
  expect(check?.permissions).toEqual({ contents: 'read' });
  expect(check?.steps.some(({ run }) => run === '.ci/run')).toBe(true);
  expect(existsSync('.ci/run')).toBe(true);
  for (const job of Object.values(publishing)) {
    expect(job).toMatchObject({ needs: 'check', environment: 'release', permissions: { 'id-token': 'write' } });
  }
});

test('no script has an expression, which a name of a tag could turn into code', () => {
  for (const { run = '' } of steps) expect(run).not.toContain('${{');
  expect(steps.some(({ run }) => run === 'npm publish --provenance --access public')).toBe(true);
});
