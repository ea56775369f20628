import { glob, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { refusals } from '../../src/capabilities/all.ts';
import { sectionsOf } from './page.ts';

const sections = await sectionsOf('troubleshooting.md');
const page = [...sections].map(([heading, text]) => `${heading}\n${text}`).join('\n');
const configuration = await readFile('docs/configuration.md', 'utf8');

test('every name with a dot is a reason or a key that exists', () => {
  const names = new Set([...page.matchAll(/`([a-z_]+\.[a-z_]+)`/g)].map(([, name = '']) => name));
  expect(names.size).toBeGreaterThan(30);
  const unknown = [...names].filter((name) => !Object.hasOwn(refusals, name) && !configuration.includes(`${name}\``));
  expect(unknown).toEqual(['gateway.log', 'token.txt'].filter((name) => names.has(name)));
});

test('every metric that is named exists', async () => {
  const metrics = await readFile('src/core/telemetry/metrics.ts', 'utf8');
  for (const [, name = ''] of page.matchAll(/`(sallyport_\w+)/g)) expect(metrics).toContain(` ${name}: {`);
});

const clients = {
  sdk: 'node_modules/@modelcontextprotocol/sdk/dist/esm/client/*.js',
  client: 'node_modules/@modelcontextprotocol/client/dist/*.mjs',
  inspector: 'node_modules/@modelcontextprotocol/inspector-client/dist/assets/*.js',
} as const;

test.each(Object.entries(clients))('what is quoted of (%s) stands in its package', async (name, files) => {
  const quotes = [...page.matchAll(/`([^`]+)`[\s]+\((\w+)\)(?:, the same\s+\((\w+)\))?/g)]
    .filter(([, , own, same]) => own === name || same === name)
    .map(([, quote = '']) => quote);
  expect(quotes.length).toBeGreaterThan(0);
  let source = '';
  for await (const file of glob(files)) source += await readFile(file, 'utf8');
  const parts = quotes.flatMap((quote) => quote.split('…').map((part) => part.trim()));
  expect(parts.filter((part) => !source.includes(part))).toEqual([]);
});

test('what is quoted of the gateway is what it says', async () => {
  const messages = new Set<string>(Object.values(refusals).map(({ message }) => message));
  const quoted = ['Access denied', 'Session not found', 'Unsupported media type', 'Unsupported content encoding'];
  for (const message of [...quoted, 'Origin not allowed', 'Host not allowed']) {
    expect(page).toContain(message);
    expect(messages).toContain(message);
  }
  const reload = await readFile('src/serve/start.ts', 'utf8');
  expect(reload).toContain('configuration refused; still running the previous configuration');
  const codes = [...page.matchAll(/^\| (-32\d{3}) +\| `([a-z_.]+)`(?:, `([a-z_.]+)`)?/gm)];
  expect(codes).toHaveLength(9);
  for (const [, code, ...reasons] of codes) {
    for (const reason of reasons.filter(Boolean)) {
      expect(refusals[reason]).toMatchObject({ status: 400, code: Number(code) });
    }
  }
  for (const [, status, reasons = ''] of page.matchAll(/^\| (50\d) +\| ([^|]+)\|/gm)) {
    for (const [, reason = ''] of reasons.matchAll(/`([^`]+)`/g)) {
      expect(refusals[reason]?.status).toBe(Number(status));
    }
  }
});
