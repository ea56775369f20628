/**
 * The house rules of docs/internals/architecture.md. A rule that finds nothing proves nothing: each is shown a planted violation
 * too.
 *
 * @module
 */

import { describe, expect, test } from 'vitest';
import * as rules from './architecture/rules.ts';
import { linesOf, loadedWith, readWith } from './architecture/closures.ts';
import { filesIn, importsOf, type SourceFile } from './architecture/source-files.ts';

const src = filesIn('src', /\.ts$/);
/** Imports files that it does not name: the tests of a mutant. */
const importers = new Set(['test/mutation/in-process.ts']);
const tests = filesIn('test', /\.ts$/).filter(({ path }) => !importers.has(path));
const typescript = [...src, ...tests, ...filesIn('demo', /\.ts$/)];

/** What `serve` loads, what the types of the pipeline need, and the core: in lines. */
const bounds = { serve: 23_259, pipeline: 1_486, core: 14_413 };

/** The imports that the rules forbid and that are left, by room. No new one: the numbers only fall. */
const remaining = {} as const;

function planted(path: string, text: string): readonly SourceFile[] {
  return [{ path, text }];
}

describe('the scan for imports', () => {
  const forms: readonly (readonly [text: string, specifier: string])[] = [
    [`import { a } from './a.ts';`, './a.ts'],
    [`import type { A } from './a.ts';`, './a.ts'],
    [`import {\n  type A,\n  b,\n} from './a.ts';`, './a.ts'],
    [`import './a.ts';`, './a.ts'],
    [`export { a } from './a.ts';`, './a.ts'],
    [`export * from './a.ts';`, './a.ts'],
    [`import json from '../a.json' with { type: 'json' };`, '../a.json'],
    [`type A = import('./a.ts').A;`, './a.ts'],
    [`const { a } = await import('./a.ts');`, './a.ts'],
  ];
  test.for(forms)('%s', ([text, specifier]) => {
    expect(importsOf({ path: 'src/x.ts', text }).map((found) => found.specifier)).toEqual([specifier]);
  });

  test('finds none in comments and strings', () => {
    const text = `/**\n * import { a } from './a.ts';\n */\n// import './a.ts'\nconst from = 'from';\n`;
    expect(importsOf({ path: 'src/x.ts', text })).toEqual([]);
  });

  test('reports unreadable imports', () => {
    for (const text of [['await ', '(name)'].join('import'), ['create', '(import.meta.url)'].join('Require')]) {
      expect(() => importsOf({ path: 'src/x.ts', text })).toThrow('not written out');
    }
  });

  test('finds one for each line that begins with an import', () => {
    const lines = src.flatMap(({ text }) => text.match(/^import\b|^export\b.*\bfrom '/gm) ?? []);
    const statements = src.flatMap(importsOf).length;
    expect(lines.length).toBeGreaterThan(100);
    expect(statements).toBeGreaterThanOrEqual(lines.length);
  });
});

describe('src/', () => {
  test('imports only lower layers, and no capability, but for what is counted here', () => {
    expect(rules.wrongArrows(src)).toEqual(remaining);
  });

  test.for([
    ['src/core/lib/x.ts', '../model/call.ts', 'lib knows nothing of gateways'],
    ['src/core/model/x.ts', '../policy/decide.ts', 'up'],
    ['src/core/policy/x.ts', '../telemetry/log.ts', 'aside'],
    ['src/core/gateway/route/x.ts', '../respond/answer.ts', 'a stage another stage'],
    ['src/core/gateway/forward/x.ts', '../../../serve/config/load.ts', 'a stage the configuration'],
    ['src/core/gateway/authorize/x.ts', '../../policy/decide.ts', 'a stage the policy language'],
    ['src/core/gateway/pipeline.ts', '../lib/clock.ts', 'the pipeline something besides the model'],
    ['src/core/gateway/x.ts', '../../tokens/jwt.ts', 'up'],
    ['src/core/telemetry/x.ts', '../../ports/store.ts', 'the core what it does not need'],
    ['src/serve/x.ts', '../commands/check.ts', 'up'],
    ['src/serve/x.ts', '../capabilities/lock/watch.ts', 'a capability'],
    ['src/capabilities/lock/x.ts', '../history/count.ts', 'a capability another one'],
    ['src/front-door/x.ts', '../core/policy/decide.ts', 'the front door the policy language'],
    ['src/serve/x.ts', '../analysis/prove/prove.ts', 'what serves the prover'],
    ['src/core/model/x.ts', '../../../demo/ports.ts', 'out of src'],
    ['src/core/gateway/route/x.ts', '../../../../package.json', 'out of src'],
    ['src/util/x.ts', '../core/model/call.ts', 'a folder that is in no layer'],
  ])('planted: %s imports %s, %s', ([path, target]) => {
    expect(rules.wrongDirections(planted(path as string, `import type { X } from '${target}';`))).toHaveLength(1);
  });

  test('loads and reads no more lines than these', () => {
    const lines = {
      serve: linesOf(loadedWith(src, 'src/commands/serve.ts')),
      pipeline: linesOf(readWith(src, 'src/core/gateway/pipeline.ts')),
      core: linesOf(src.filter(({ path }) => path.startsWith('src/core/'))),
    };
    const over = Object.entries(bounds).flatMap(([name, most]) => {
      const more = lines[name as keyof typeof bounds] - most;
      return more > 0 ? [`${name} by ${more}: take lines away, or raise its bound, see CONTRIBUTING.md`] : [];
    });
    expect({ ...lines, over }).toEqual({ ...lines, over: [] });
    const chain = ['a', 'b', 'c'].map((name, at) => ({
      path: `src/${name}.ts`,
      text: [`import { x } from './b.ts';\n`, `import type { Y } from './c.ts';\n`, 'one\ntwo\n'][at] ?? '',
    }));
    expect([linesOf(loadedWith(chain, 'src/a.ts')), linesOf(readWith(chain, 'src/a.ts'))]).toEqual([2, 4]);
  });

  test('uses each package in its owner’s folder only, and neither packages nor Node in pure folders', () => {
    expect(rules.foreignPackages(src)).toEqual([]);
  });

  test.for([
    ['src/core/gateway/route/x.ts', 'undici'],
    ['src/core/model/x.ts', 'jose'],
    ['src/core/lib/x.ts', 'left-pad'],
    ['src/core/policy/x.ts', 'node:fs'],
    ['src/tokens/x.ts', 'lru-cache'],
  ])('planted: %s imports %s', ([path, target]) => {
    expect(rules.foreignPackages(planted(path as string, `import type { X } from '${target}';`))).toHaveLength(1);
  });

  test('gets time, randomness and answers as arguments in pure folders', () => {
    expect(rules.impurities(src)).toEqual([]);
    expect(rules.impurities(planted('src/core/policy/x.ts', 'const now = Date.now();'))).toHaveLength(1);
  });

  test('opens requests of its own in one file, through the proxy for them', () => {
    expect(rules.otherRequests(src)).toEqual([]);
    for (const text of ['await fetch(url);', 'http.request(url);', `import { request } from 'node:https';`])
      expect(rules.otherRequests(planted('src/tokens/x.ts', text))).toHaveLength(1);
  });

  test('gathers foreign bytes by a Gatherer alone', () => {
    const own = [
      // The operator's own input, and answers of the operator's own gateway.
      /^src\/(?:commands\/(?:explain|operator|revoke)|capabilities\/(?:approvals\/approvals-command|terminal))\.ts: /,
      /^src\/commands\/token\.ts: import .*stdinText/,
      // Lines of the log.
      /^src\/(?:capabilities\/audit-chain\/chain|serve\/standard-output)\.ts: /,
      /^src\/capabilities\/audit-chain\/verify\.ts: .*boundedAnswer/,
      // Read to a limit before.
      /^src\/(?:commands\/(?:token|doctor\/(?:finding|front-door))|tokens\/servers\/secret-remedy)\.ts: .*boundedAnswer/,
      /^src\/front-door\/issuer-discovery\.ts: .*answer\.(?:text|json)\(\)/,
      // The body of a request of its own.
      /^src\/tokens\/servers\/own-fetch\.ts: const body/,
      // The pieces of one chunk, or of one text that the gateway made.
      /^src\/mcp\/event-(?:id-)?filter\.ts: /,
      /^src\/capabilities\/shared-store\/sealing\.ts: /,
      /^src\/capabilities\/traces\/log-export\.ts: const text = await \(await boundedAnswer\(/,
      /^src\/mcp\/private-filter\.ts: const bytes/,
    ];
    const lines = rules.gatherersOfBodies(src);
    expect(lines.filter((line) => !own.some((form) => form.test(line)))).toEqual([]);
    expect(own.filter((form) => !lines.some((line) => form.test(line)))).toEqual([]);
  });

  test.for([
    'const chunks: Buffer[] = [];',
    '#held: Buffer[] = [];',
    'readonly #waiting: (Buffer | undefined)[] = [];',
    'return Buffer.concat(chunks);',
    "import { text } from 'node:stream/consumers';",
    'const text = await response.text();',
    'return (await fetch(url)).json();',
  ])('planted: %s', (line) => {
    expect(rules.gatherersOfBodies(planted('src/x.ts', line))).toHaveLength(1);
  });

  test('names in pipeline.ts the file of each step', () => {
    const text = src.find(({ path }) => path === 'src/core/gateway/pipeline.ts')?.text ?? '';
    const steps = [...text.matchAll(/^export interface (?:Stages|Gateway) \{\n(.*?)^\}/gms)].flatMap(([, body = '']) =>
      body.split(/;\n(?= {2}\/\*\*|$)/).filter((member) => member.includes('(')),
    );
    const paths = new Set(src.map(({ path }) => path));
    const named = steps.map((step) => /`([\w/-]+\.ts)`/.exec(step)?.[1] ?? step);
    expect(named).toHaveLength(26);
    expect(named.filter((file) => !paths.has(`src/${file}`) && !paths.has(`src/core/gateway/${file}`))).toEqual([]);
  });

  test('exports each name of a type from one file only', () => {
    expect(rules.homonyms(src)).toEqual([]);
    const twice = ['a', 'b'].map((name) => ({ path: `src/${name}.ts`, text: 'export interface Answer {}' }));
    expect(rules.homonyms(twice)).toEqual(['Answer: src/a.ts, src/b.ts']);
  });

  test('has no line of more than 120 characters', () => {
    const long = src.flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, i) => (line.length > 120 ? [`${path}:${i + 1}`] : [])),
    );
    expect(long).toEqual([]);
  });
});

describe('src/, test/ and demo/', () => {
  test('has no barrels', () => {
    expect(typescript.filter(({ path }) => path.endsWith('/index.ts')).map(({ path }) => path)).toEqual([]);
  });
});

describe('test/', () => {
  test('reads the log of a gateway only by waiting for a line', () => {
    expect(rules.hastyReaders(tests)).toEqual([]);
    const own = ['const output = new ', '({ write() {} });\nawait start(config, { output });'].join('Writable');
    const newest = ['gateway', 'decisions().at(-1)'].join('.');
    for (const text of [own, newest]) expect(rules.hastyReaders(planted('test/x.ts', text))).toHaveLength(1);
  });
});

describe('the package', () => {
  const [manifest, lock] = ['package.json', 'package-lock.json'].map(
    (name) => filesIn('.', new RegExp(`^${name}$`))[0]?.text ?? '',
  ) as [string, string];

  test('depends exactly on what src/ imports', () => {
    const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
    const imported = src
      .flatMap(importsOf)
      .filter(({ isOurs, target }) => !isOurs && !target.startsWith('node:'))
      .map(({ target }) => target);
    expect(Object.keys(dependencies).toSorted()).toEqual([...new Set(imported)].toSorted());
    expect(Object.keys(rules.owners).toSorted()).toEqual(Object.keys(dependencies).toSorted());
  });

  test('pins a package exactly whose inner files src/ imports: they are outside its semantic version', () => {
    const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
    const inner = src.flatMap(importsOf).filter(({ isOurs, specifier }) => !isOurs && specifier.includes('/lib/'));
    const packages = [...new Set(inner.map(({ target }) => target))];
    expect(packages.toSorted()).toEqual(['oidc-provider', 'undici']);
    for (const name of packages) expect(dependencies[name]).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test('is locked without the host of a registry, so that each installation uses its own', () => {
    expect(lock).toContain('"lockfileVersion"');
    expect(lock).not.toContain('"resolved"');
  });
});

test('each file that a comment or a text of src/ names in backquotes exists', () => {
  const everything = filesIn('.', /\.tsx?$/).map(({ path }) => `/${path}`);
  const named = src.flatMap(({ text }) => [...text.matchAll(/`([\w./-]+\.tsx?)`/g)].map(([, path = '']) => path));
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((path) => !everything.some((each) => each.endsWith(`/${path}`)))).toEqual([]);
});

test('no file contains a path of a developer’s machine', () => {
  // Spelt so that this line is none.
  const place = new RegExp(`(?<![\\w.}*-])/(?:${['work', 'root', 'home'].join('|')})/`);
  expect(place.test(['cd ', 'root', 'x'].join('/'))).toBe(true);
  const everything = filesIn('.', /\.(?:[cm]?[jt]s|json|ya?ml|md|sh|html|toml|tpl)$|Dockerfile$|\.ci\/run$/);
  expect(everything.length).toBeGreaterThan(100);
  expect(everything.filter(({ text }) => place.test(text)).map(({ path }) => path)).toEqual([]);
});
