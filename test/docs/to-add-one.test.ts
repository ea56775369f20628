/**
 * "To add one" of CONTRIBUTING.md: the numbered places of a list each hold every example of its kind, with what
 * capabilities add to it in their own folders.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import gateway from '../../schema/gateway.schema.json' with { type: 'json' };
import policy from '../../schema/policy.schema.json' with { type: 'json' };
import { commands } from '../../src/commands/commands.ts';
import { examinations } from '../../src/commands/doctor/doctor.ts';
import { warnings } from '../../src/serve/config/warnings.ts';
import { members } from '../../src/core/model/decision.ts';
import { standardServer } from '../../src/serve/config/quirks/providers.ts';
import { refusals } from '../../src/capabilities/all.ts';
import { kinds } from '../../src/capabilities/shared-store/store-url.ts';
import { knownRequests, revisions } from '../../src/core/model/mcp.ts';
import { metricRows } from '../../src/capabilities/all.ts';
import { createMetrics } from '../../src/core/telemetry/metrics.ts';
import { filesIn, type SourceFile } from '../architecture/source-files.ts';
import { keysOf, type Schema } from '../pins/keys-of.ts';
import { requirements } from '../spec/requirements.ts';

const files = ['src', 'schema', 'docs', 'deploy', 'test', 'console'].flatMap((folder) => filesIn(folder));
const scripts = Object.keys((JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object }).scripts);

const source = (path: string): string => files.find((file) => file.path === path)?.text ?? '';

/** Every example of each kind, by the heading of its list. */
const examples: Readonly<Record<string, readonly string[]>> = {
  'A reason': Object.keys(refusals),
  'A key of gateway.yaml': keysOf(gateway as Schema).map((path) => /(\w+)!?$/.exec(path)?.[1] ?? path),
  'A predicate of policies': Object.keys(policy.$defs.value.properties),
  'A condition of policies': Object.keys(policy.$defs.policy.properties),
  'An MCP method': [...knownRequests.keys()],
  'An MCP revision': [...revisions.keys()],
  'A member of the decision log': Object.values(members).flatMap((row) => ('wire' in row ? [row.wire.name] : [])),
  'A metric': createMetrics(metricRows)
    .registry.getMetricsAsArray()
    .map(({ name }) => name)
    .filter((name) => name.startsWith('sallyport_')),
  'A parameter of challenges': [...source('src/core/gateway/respond/challenge.ts').matchAll(/^ {4}\['(\w+)', /gm)].map(
    ([, name = '']) => name,
  ),
  'A command': Object.keys(commands),
  'An option of a command': Object.values(commands).flatMap(({ options }) => Object.keys(options)),
  'A warning of `check`': Object.keys(warnings),
  'A check of `doctor`': Object.keys(examinations),
  'What a revocation speaks of': ['subject', 'email', 'emailDigest', 'session', 'token'],
  'A kind of shared store': ['redis', ...Object.keys(kinds)],
  'A quirk of an authorization server or a client': [...Object.keys(standardServer), 'stepUp'],
  'A requirement': requirements.map(({ id }) => id),
};

const [, section = ''] = /^## To add one$(.*?)^## /ms.exec(readFileSync('CONTRIBUTING.md', 'utf8')) ?? [];
/** Heading → the items of its list, each with its marker. */
const lists = new Map(
  section
    .split(/^### /m)
    .slice(1)
    .map((part) => [part.slice(0, part.indexOf('\n')), part.split(/^(?=\d+\. |- )/m).slice(1)] as const),
);

/** The numbered places of a list. */
function placesOf(kind: string): readonly string[] {
  return (lists.get(kind) ?? []).flatMap((item) => /^\d+\. `([^`]+)`/.exec(item)?.[1] ?? []);
}

/** The files of a place: itself, or those of a folder. A capability brings rows of its own for the tables of `src/`. */
function filesOf(place: string): readonly SourceFile[] {
  return files.filter(({ path }) => path === place || (place.endsWith('/') && path.startsWith(place)));
}

const holds = (text: string, word: string): boolean =>
  text.includes(word) && new RegExp(`(?<![\\w-])${word.replaceAll('.', '[.]')}(?![\\w-])`).test(text);

const declares = (text: string, name: string): boolean =>
  new RegExp(`^(?:export )?(?:async )?(?:function|const|class|interface|type) ${name}\\b`, 'm').test(text);

function missing(text: string, words: readonly string[]): readonly string[] {
  return words.filter((word) => !holds(text, word));
}

test('there is a list for each kind', () => {
  expect([...lists.keys()]).toEqual(Object.keys(examples));
});

describe.for(Object.entries(examples))('%s', ([kind, words]) => {
  test('each place holds every example', () => {
    expect(words.length).toBeGreaterThan(2);
    expect(placesOf(kind).length).toBeGreaterThan(0);
    for (const place of placesOf(kind)) {
      const [folder = ''] = place.split('/');
      const rows = filesOf(`${folder === 'schema' ? 'src' : folder}/capabilities/`);
      const text = [...filesOf(place), ...rows].map((file) => file.text).join('\n');
      expect([place, ...missing(text, words)]).toEqual([place]);
    }
  });

  test('each path, script and name exists', () => {
    const quoted = [...(lists.get(kind) ?? []).join('').matchAll(/`([^`]+)`/g)].map(([, text = '']) => text);
    const paths = quoted.filter((text) => /\w\//.test(text));
    expect(paths.filter((path) => filesOf(path).length === 0)).toEqual([]);
    const text = paths
      .flatMap(filesOf)
      .map((file) => file.text)
      .join('\n');
    const unknown = quoted.filter((each) => {
      const script = /^npm run (\w+)$/.exec(each)?.[1];
      return script === undefined ? !paths.includes(each) && !text.includes(each) : !scripts.includes(script);
    });
    expect(unknown).toEqual([]);
  });

  test('each name with a file is declared in that file', () => {
    const named = (lists.get(kind) ?? []).join('').matchAll(/`(\w+)`\s(?:\(|in\s|of\s)`([^`]+\.tsx?)`/g);
    const elsewhere = [...named].filter(([, name = '', path = '']) => !declares(source(path), name));
    expect(elsewhere.map(([text]) => text)).toEqual([]);
  });
});
