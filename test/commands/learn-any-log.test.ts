import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { folderWith } from '../serve/config/folder.ts';
import { runs } from '../support/runs.ts';
import { outcome } from './run.ts';

const yaml = `public_url: http://127.0.0.1:8080
authorization_servers: { main: { issuer: http://as.test, jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, policy: tools, upstream: { url: http://up.test } }
  - { name: api, path: /api, audience: r, policy: api, upstream: { url: http://up.test } }
`;

/** What YAML, policies, terminals, paths or objects could take for something else. */
const odd = [
  '__proto__',
  'constructor',
  'toString',
  'null',
  'true',
  'no',
  'yes',
  '~',
  '1',
  '0x10',
  '1e3',
  '.inf',
  '2026-01-31',
  '${env:X}',
  '${claims.sub}',
  '{a}',
  '{a,b}',
  '*',
  '**',
  '&a',
  '!t',
  '# c',
  'a: b',
  'a #b',
  '- a',
  '"',
  "'",
  '\\',

  '\u0000',
  '\u001B[2J',
  '\u0085',
  '\u2028',
  '\u202E',
  '\uFEFF',
  '\uD800',
  'ﷺ',
  'İ',
  'é',
  ' ',
  '',
  '\n',
  '\t',
  '…',
  'x',
  '%2e',
  '%2F',
  '%',
  '..',
  '.',
  '//',
  '/',
  '?',
  '#',
  ';',
  '@',
  '<<',
  'file:///a',
  'read',
  'get_item',
  'GET /api',
] as const;
const text = fc.oneof(
  fc.constantFrom(...odd),
  fc.array(fc.constantFrom(...odd), { maxLength: 4 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(256, 512, 600).map((length) => 'a'.repeat(length)),
);
const value = fc.oneof(text, fc.jsonValue({ maxDepth: 1 }));
const scope = fc.oneof(fc.constantFrom('read', 'read write', 'a,b', 'read  write'), text);
const common = { scope, subject: text, role: value };
const calls: Readonly<Record<'tools' | 'api', fc.Arbitrary<Readonly<Record<string, unknown>>>>> = {
  tools: fc.oneof(
    fc.record({ ...common, tool: text, method: fc.constant('tools/call') }, { requiredKeys: ['method'] }),
    fc.record({ ...common, method: fc.oneof(text, fc.constantFrom('resources/read', 'GET', 'ping', 'tasks/list')) }),
    fc.record({
      ...common,
      method: fc.constantFrom('resources/read', 'prompts/get', 'completion/complete'),
      targets: fc.array(
        fc.record({ kind: fc.constantFrom('resource', 'prompt', 'tool', 'template', 'task'), name: text }),
        { minLength: 1, maxLength: 2 },
      ),
    }),
  ),
  api: fc.record(
    {
      ...common,
      method: fc.constantFrom('GET', 'POST', 'HEAD', 'get', 'X-Y', 'CONNECT', ''),
      path: fc.oneof(
        text,
        text.map((rest) => `/api/${rest}`),
      ),
    },
    { requiredKeys: ['method'] },
  ),
};

/** Lines of the log of one route. */
function linesOf(route: string, made: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = made.map(({ role, targets, ...members }, index) => {
    const known = { msg: 'decision', time: '2026-01-31T10:00:00.000Z', decision: `d${index}`, request_id: 'r' };
    const input = { ...(role !== undefined && { claims: { role } }), ...(targets !== undefined && { targets }) };
    return JSON.stringify({
      ...known,
      route,
      allow: true,
      issuer: 'http://as.test',
      duration_ms: 1,
      input,
      ...members,
    });
  });
  return lines.join('\n');
}

test.each(['tools', 'api'] as const)(
  'what learn writes from any log of %s passes check, test and replay, and names what it leaves out',
  async (route) => {
    const folder = await folderWith({ yaml, files: { 'policies/tools.yaml': '{}', 'policies/api.yaml': '{}' } });
    const run = (...args: readonly string[]) => outcome(args, folder);
    const made = fc.tuple(fc.array(calls[route], { minLength: 1, maxLength: 4 }), fc.boolean());
    const property = fc.asyncProperty(made, async ([records, byRole]) => {
      await writeFile(join(folder, 'log'), linesOf(route, records));
      await writeFile(join(folder, 'policies', `${route}.yaml`), '{}\n');
      await writeFile(join(folder, 'policies', `${route}.test.yaml`), '[]\n');
      const by = byRole ? ['--by', 'claim:role'] : [];
      const learnt = await run('learn', 'log', '--route', route, '--to', 'policies', '--force', ...by);
      if (learnt.code === 1 && learnt.stderr.startsWith('sallyport: nothing was written: ')) return;
      const [checked, tested] = [await run('check'), await run('test', route)];
      const { changes } = JSON.parse((await run('replay', 'log', '--json')).stdout) as {
        readonly changes: readonly { readonly after: string }[];
      };
      const refused = changes.filter(({ after }) => after !== 'allow').length > 0;
      const isNamed = /^(?:left out|newly refused \d+ times): /m.test(learnt.stdout);
      expect([learnt.stderr, checked.code, checked.stderr.includes('problem'), tested.code]).toEqual(['', 0, false, 0]);
      expect({ refused: refused && !isNamed, code: learnt.code }).toEqual({ refused: false, code: isNamed ? 1 : 0 });
    });
    await fc.assert(property, { numRuns: runs / 6 });
  },
  60_000,
);
