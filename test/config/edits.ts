import { base, edited, refusals } from './folder.ts';

/** A `gateway.yaml` and the lines that it is refused with, without its name. */
export type Row = readonly [title: string, yaml: string, ...lines: string[]];

/** The lines that a `gateway.yaml` alone is refused with, without its name. */
export async function refused(yaml: string): Promise<readonly string[]> {
  const lines = await refusals({ yaml, files: { empty: '\n' }, env: { EMPTY: '', SECRET: 'hunter2' } });
  return lines.map((line) => line.replace(/^gateway\.yaml/, ''));
}

export const servers = 'authorization_servers.main';
export const topLevel =
  'public_url, listen, admin, tls, trusted_proxies, certificate_proxies, forward_auth, console, authorization_servers, front_door, scopes, policies, session_key, shared, on_store_failure, allowed_hosts, allowed_origins, limits, log, telemetry, routes';

/** {@link base} with a line more at the top level, number 13. */
export const top = (line: string): string => `${base}${line}\n`;
export const publicUrl = (value: string): string =>
  edited(['public_url: http://127.0.0.1:8080', `public_url: ${value}`]);
export const issuer = (value: string): string => edited(['issuer: http://127.0.0.1:9000', `issuer: ${value}`]);
export const algorithms = (value: string): string => edited(['[RS256]', value]);
export const server = (line: string): string => edited(['    jwt:', `    ${line}\n    jwt:`]);
export const introspection = (members: string): string =>
  edited(['client_id: gateway, client_secret: s3cr3t', members]);
export const secret = (value: string): string => edited(['s3cr3t', value]);
export const noIntrospection = ['    introspection: { client_id: gateway, client_secret: s3cr3t }\n', ''] as const;
export const noJwt = ['    jwt: { algorithms: [RS256] }\n', ''] as const;
export const secondServer = [
  'routes:',
  '  other: { issuer: "http://127.0.0.1:9001", jwt: { algorithms: [ES256] } }\nroutes:',
] as const;
/** A line more in the route, number 11. */
export const route = (line: string) => ['    upstream:', `    ${line}\n    upstream:`] as const;
export const path = (value: string): string => edited(['path: /api', `path: '${value}'`]);
export const audience = (value: string): string => edited(['audience: https://api.example', `audience: ${value}`]);
export const url = (value: string): string => edited(['url: http://127.0.0.1:3000', `url: ${value}`]);
/** A line more in the upstream, number 13. */
export const upstream = (line: string) => ['127.0.0.1:3000\n', `127.0.0.1:3000\n      ${line}\n`] as const;
export const exchange = (members: string) => upstream(`token: exchange\n      exchange: { ${members} }`);
export const secondRoute = (name: string, path: string): string =>
  `${base}  - { name: ${name}, path: ${path}, public: true, upstream: { url: http://x } }\n`;
export const notFree = 'is reserved; choose a header name such as x-auth-subject';
export const ambiguous = 'has a character that servers read in different ways; it is';
export const placeholder = 'a malformed placeholder; write ${env:NAME}, ${env:NAME:-default} or ${file:PATH}';
