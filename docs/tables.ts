/**
 * Writes the tables of pages from the tables of `src/core/model`, between their markers:
 *
 *     npm run docs
 *
 * @module
 */

import { readFile, writeFile } from 'node:fs/promises';
import { members } from '../src/core/model/decision.ts';
import { type ClientQuirks, clients, obstaclesOf } from '../src/serve/config/quirks/clients.ts';
import { type ProviderQuirks, providers, type Facts, sourceUrl } from '../src/serve/config/quirks/providers.ts';

/** Members of every line of the log. */
const everyLine = [
  ['`level`', '`info`, also for refusals, to show the reason by default'],
  ['`msg`', '`decision`'],
];

const rows = Object.entries<ClientQuirks>(clients);

/** Each page with its table, by the name of the page. */
export const tables: Readonly<Record<string, () => string>> = {
  'clients.md': () =>
    table(
      ['client', '`known:`', 'step-up'],
      rows.map(([name, { title, redirectUris, stepUp }]) => [
        title,
        redirectUris.length === 0 ? '`loopback`' : `\`${name}\``,
        stepUp,
      ]),
    ),
  'authorization-servers.md': () =>
    table(
      ['provider', 'clients register', 'what stops, without the front door'],
      Object.values<ProviderQuirks>(providers).map((provider) => [
        `[${provider.title}](${provider.section})`,
        { open: 'themselves', restricted: 'if allowed there', none: 'no: you do' }[provider.registration],
        stopped(provider),
      ]),
    ),
  'monitoring.md': () => table(['member', 'meaning'], [...everyLine, ...Object.values(members).flatMap(memberLine)]),
};

/** The products whose facts stand in sections of a page, between markers with their names. */
const products: Readonly<Record<string, Readonly<Record<string, { readonly facts: Facts }>>>> = {
  'clients.md': clients,
  'authorization-servers.md': providers,
};

/** The page with its table and the facts of its products replaced. */
export function withTable(page: string, name: string): string {
  const [before = '', after] = page.split(/<!-- table: npm run docs -->[^]*?<!-- end -->/);
  if (after === undefined) throw new Error(`docs/${name} has no place for its table`);
  const text = `${before}<!-- table: npm run docs -->\n\n${tables[name]?.() ?? ''}\n<!-- end -->${after}`;
  return Object.entries(products[name] ?? {}).reduce((written, [product, { facts }]) => {
    const marker = `<!-- facts: ${product} -->`;
    const [above = '', below, ...more] = written.split(new RegExp(`${marker}[^]*?<!-- end -->`));
    if (below === undefined || more.length > 0) throw new Error(`docs/${name} does not have ${marker} once`);
    return `${above}${marker}\n\n${listed(facts)}\n<!-- end -->${below}`;
  }, text);
}

function table(heads: readonly string[], cells: readonly (readonly string[])[]): string {
  const line = (parts: readonly string[]): string => `| ${parts.join(' | ')} |\n`;
  return line(heads) + line(heads.map(() => '---')) + cells.map(line).join('');
}

function memberLine(row: (typeof members)[keyof typeof members]): readonly (readonly string[])[] {
  return 'wire' in row ? [[`\`${row.wire.name}\``, row.wire.about]] : [];
}

/** One item a fact. */
function listed(facts: Facts): string {
  return Object.entries(facts)
    .flatMap(([month, found]) =>
      Object.entries(found).map(([source, text]) => `- ${text} ([${month}](${sourceUrl(source)}))\n`),
    )
    .join('');
}

/** Which clients stop at a provider, and why. Step-up, which does not depend on the provider, is in the table of clients. */
function stopped(server: ProviderQuirks): string {
  if (server.isOwnApisOnly === true) return 'all: its tokens are for its own APIs';
  const byCause = new Map<string, string[]>();
  for (const [, client] of rows) {
    const first = obstaclesOf({ client, server, endpointsAtRoot: false }).find(({ at }) => at !== 'step-up');
    if (first !== undefined) byCause.set(first.cause, [...(byCause.get(first.cause) ?? []), client.title]);
  }
  return [...byCause].map(([cause, titles]) => `${titles.join(', ')} (${cause})`).join('; ') || 'none';
}

if (import.meta.main) {
  for (const name of Object.keys(tables)) {
    const file = new URL(name, import.meta.url);
    await writeFile(file, withTable(await readFile(file, 'utf8'), name));
  }
}
