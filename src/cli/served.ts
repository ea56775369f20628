import { printable } from '../lib/wording.ts';
import type { Config } from '../model/config.ts';
import { metadataUrl } from '../pipeline/respond/resource-metadata.ts';
import type { Running } from '../serve/start.ts';

/** How many routes are listed; a longer list pushes the rest out of sight. */
const SHOWN = 20;

/** What a gateway serves, in a few aligned lines for the person who started it on a terminal. */
export function servedText(config: Config, { url, adminUrl, forwardAuthUrl }: Running): string {
  const { publicUrl, routes, log } = config;
  const shown = routes.slice(0, SHOWN);
  const nameWidth = Math.max(...shown.map(({ name }) => name.length));
  const urlWidth = Math.max(...shown.map(({ path }) => `${publicUrl}${path}`.length));
  const rows = [
    ['listens on', url],
    ...shown.map(({ name, path, policy, public: isPublic }) => [
      'route',
      `${name.padEnd(nameWidth)}  ${`${publicUrl}${path}`.padEnd(urlWidth)}  ${accessOf(isPublic, policy?.name)}`,
    ]),
    ...(routes.length > SHOWN ? [['', `… and ${routes.length - SHOWN} more`]] : []),
    ...shown.map((route) => ['metadata', metadataUrl(route, publicUrl)]),
    ['proxies ask', forwardAuthUrl],
    ['console', adminUrl && `${adminUrl}/`],
    ['metrics', adminUrl && `${adminUrl}/metrics`],
    ['decisions', log.file === undefined ? 'stdout' : `stdout, ${log.file}`],
  ];
  const given = rows.filter(([, value]) => value !== undefined);
  return given.map(([label = '', value = '']) => `  ${label.padEnd(11)}  ${printable(value)}\n`).join('');
}

function accessOf(isPublic: boolean, policy: string | undefined): string {
  if (isPublic) return 'public';
  return policy === undefined ? 'any valid token' : `policy ${policy}`;
}
