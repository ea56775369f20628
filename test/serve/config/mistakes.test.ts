import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { casesOf } from './edits.ts';
import { base, edited, refusals, type Situation, warningsIn } from './folder.ts';

const inRoute = (text: string) => edited(['    path: /api', `    path: /api\n${text}`]);
const mcp = edited(['path: /api', 'path: /mcp\n    protocol: mcp\n    policy: api'], ['audience: https', '# https']);

/** What `mistakes.txt` writes: lines of a route or a policy, or `FROM ⇒ TO`, and after WITH the policies that there are. */
function situationOf(written: string): Situation {
  const [text = '', names = ''] = written.replaceAll('⏎', '\n').split(' WITH ');
  const files = Object.fromEntries((names.match(/\S+/g) ?? []).map((name) => [name, '{}']));
  const [, place, lines = ''] = /^(route|policy|tools|unused): ?([^]*)$/.exec(text) ?? [];
  const [from = '', to = ''] = text.split(' ⇒ ');
  if (place === undefined) return { yaml: edited([from, to]) };
  if (place === 'route') return { yaml: inRoute(lines), files };
  const yaml = { policy: inRoute('    policy: api'), tools: mcp, unused: base }[place];
  return { yaml: yaml ?? base, files: { 'policies/api.yaml': `${lines}\n` } };
}

/** What people write, and the one message: the place, what is wrong, and the remedy. */
const mistakes = casesOf(readFileSync(new URL('mistakes.txt', import.meta.url), 'utf8')).map(([text, messages]) => {
  const [mistake = '', written = ''] = text.split(' | ');
  return [mistake, written, messages] as const;
});

test.each(mistakes)(
  'R-218: a mistake has one message, with its place and its remedy: %s',
  async (_mistake, written, messages) => {
    const situation = situationOf(written);
    const errors = await refusals(situation);
    const warnings = errors.length > 0 ? [] : await warningsIn(situation);
    expect([...errors, ...warnings.map((line) => `warning: ${line}`)]).toEqual(messages);
  },
);
