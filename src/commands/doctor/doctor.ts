import { stat } from 'node:fs/promises';
import { load } from '../../serve/config/load.ts';
import { ownBackchannel } from '../../serve/config/front-door.ts';
import { capabilities, leadRequests } from '../../capabilities/all.ts';
import { isLed } from '../../ports/own-requests.ts';
import { printable, reasonOf } from '../../core/lib/wording.ts';
import { listTools, McpServerFault, remedyForHost } from '../../mcp/client/ask-server.ts';
import { escaped } from '../init/tools-policy.ts';
import type { Config } from '../../ports/config.ts';
import type { Route } from '../../core/model/route.ts';
import { lacksFields, questionHeaders, serverUrl } from '../../ports/upstream-questions.ts';
import type { FrontDoor } from '../../ports/front-door.ts';
import { clients } from '../../serve/config/quirks/clients.ts';
import type { OptionsOf } from '../options.ts';
import { coloured, type ExitCode, tokenOnStdin, UsageError } from '../../capabilities/terminal.ts';
import { examineServer } from './authorization-server.ts';
import { examineClient, examineKnownClients } from './client.ts';
import { fetchText } from './finding.ts';
import { type Finding, type Findings, findingsOn, remedyForReason } from '../../capabilities/finding.ts';
import { examinePublicUrl } from './public-url.ts';
import { examineToken } from './token.ts';
import { connect, type TLSSocket } from 'node:tls';
import { readCertificates } from '../../serve/config/certificate-files.ts';

/**
 * `sallyport doctor`: examines everything that a deployment needs, one line each, and exits with 1 if anything fails.
 *
 * @throws {UsageError}
 */
export async function doctor({ config: file, token, route, client, register }: OptionsOf<'doctor'>): Promise<ExitCode> {
  if (token === undefined && route !== undefined) throw new UsageError('--route needs --token -');
  if (client === undefined && register) throw new UsageError('--register needs --client NAME');
  if (client !== undefined && !Object.hasOwn(clients, client)) {
    throw new UsageError(`--client takes ${Object.keys(clients).join(', ')}, not ${JSON.stringify(client)}`);
  }
  if (client !== undefined && token !== undefined) throw new UsageError('--client cannot be combined with --token');
  const value = await tokenOnStdin(token);
  const { config, secrets } = await load(file);
  await leadRequests(config);
  const counts = { ok: 0, warn: 0, fail: 0 };
  const findings =
    client === undefined
      ? examine(config, value === undefined ? undefined : { value, route }, secrets)
      : await examineClient(client, config, register);
  for await (const finding of findings) {
    counts[finding.status] += 1;
    process.stdout.write(lineOf(finding));
  }
  process.stdout.write(`${counts.ok} ok, ${counts.warn} warn, ${counts.fail} fail\n`);
  return counts.fail === 0 ? 0 : 1;
}

const colours = { ok: 'good', warn: 'warning', fail: 'bad' } as const;

function lineOf({ status, subject, text: found, remedy }: Finding): string {
  const start = coloured(colours[status], status.padEnd(4));
  return `${start} ${printable(`${subject}: ${found}${remedy === undefined ? '' : `: ${remedy}`}`)}\n`;
}

interface TokenOfRoute {
  readonly value: string;
  /** Undefined: the route whose audience it names. */
  readonly route: string | undefined;
}

interface Deployment {
  readonly config: Config;
  readonly token: TokenOfRoute | undefined;
  readonly now: number;
  /** The files of placeholders. */
  readonly secrets: readonly string[];
  /** False: `serve` is yet to start the front door. */
  readonly isStarted: boolean;
  /** The configuration without the server and the route of a front door that is not started. */
  readonly servers: Config;
}

/**
 * The examinations, in the order of their findings: everything that a request needs, by the code that serves it. None
 * changes anything, calls a tool, or sends credentials where `serve` would not.
 */
export const examinations: Readonly<Record<string, (deployment: Deployment) => Promise<readonly Finding[]>>> = {
  // A warning of `check` has its remedy.
  configuration: async ({ config }) =>
    config.warnings.map((text) => ({ status: 'warn', subject: 'configuration', text, remedy: undefined })),
  secrets: ({ secrets }) => examineSecrets(secrets),
  public_url: ({ config }) => examinePublicUrl(config),
  certificates: ({ config, now }) => examineCertificates(config, now),
  authorization_servers: examineServers,
  async front_door({ config, isStarted }) {
    if (config.frontDoor === undefined) return [];
    // openid-client is of no use without a front door.
    return (await import('./front-door.ts')).examineFrontDoor(config, isStarted);
  },
  clients: ({ servers }) => examineKnownClients(servers),
  clock: ({ config }) => examineClock(config),
  upstream: ({ servers }) => Promise.all(servers.routes.map(examineUpstream)),
  ...Object.fromEntries(
    capabilities.flatMap(({ name, examine: of }) =>
      of === undefined ? [] : [[name, ({ servers }: Deployment) => of(servers)] as const],
    ),
  ),
  token: async ({ token, config, now }) =>
    token === undefined ? [] : examineToken(token.value, token.route, config, now),
};

/** Makes all findings, group by group, each group as soon as it is complete. */
export async function* examine(
  config: Config,
  token: TokenOfRoute | undefined,
  secrets: readonly string[] = [],
): AsyncGenerator<Finding> {
  const { frontDoor } = config;
  const isStarted = frontDoor === undefined || !(await isNotStarted(frontDoor));
  const servers = isStarted ? config : withoutFrontDoor(config);
  const deployment = { config, token, secrets, now: Date.now(), isStarted, servers };
  const groups = Object.values(examinations).map((examination) => examination(deployment));
  // A later group may fail while an earlier one is awaited.
  for (const group of groups) group.catch(() => {});
  for (const group of groups) yield* await group;
}

/** Root reads every file, and so may start `doctor` where the user of the gateway cannot start `serve`. */
async function examineSecrets(files: readonly string[]): Promise<readonly Finding[]> {
  const on = findingsOn('secrets');
  const modes = await Promise.all(files.map(async (file) => ({ file, mode: (await stat(file)).mode & 0o777 })));
  return modes
    .filter(({ mode }) => (mode & 0o444) === 0)
    .map(({ file, mode }) =>
      on.fail(
        `no user may read ${file} (mode ${mode.toString(8).padStart(4, '0')})`,
        'let the user of the gateway read it: chown it to that user, and chmod 0400',
      ),
    );
}

async function examineServers({ config, servers }: Deployment): Promise<readonly Finding[]> {
  const groups = Array.from(servers.authorizationServers.values(), async (server) => {
    const findings = await examineServer(server, config);
    // That the gateway supports what its own front door has is no news.
    return server === config.frontDoor?.server ? findings.filter(({ status }) => status !== 'ok') : findings;
  });
  return (await Promise.all(groups)).flat();
}

/** Whether `serve` would start the front door, and nothing listens there yet: `doctor` may well run before `serve`. */
async function isNotStarted({ issuer, listen, server }: FrontDoor): Promise<boolean> {
  if (server.backchannel !== ownBackchannel(issuer, listen)) return false;
  try {
    await fetchText(server.backchannel, { method: 'HEAD' });
    return false;
  } catch (error) {
    return reasonOf(error) === 'ECONNREFUSED';
  }
}

/** The configuration without the server and the route that lead to the front door: examining them would repeat it. */
function withoutFrontDoor(config: Config): Config {
  const { authorizationServers, frontDoor, routes } = config;
  return {
    ...config,
    authorizationServers: new Map([...authorizationServers].filter(([, server]) => server !== frontDoor?.server)),
    routes: routes.filter(({ isFrontDoor }) => !isFrontDoor),
  };
}

/** `Date` has whole seconds, RFC 9110 §5.6.7. */
const GRANULARITY_MS = 1000;

/** Compares the clock of this machine with the `Date` of each authorization server, whose times tokens have. */
export async function examineClock({ authorizationServers }: Config): Promise<readonly Finding[]> {
  const servers = [...authorizationServers.values()];
  const found = servers.map(async ({ name, backchannel, clockToleranceMs }): Promise<readonly Finding[]> => {
    const on = findingsOn('clock');
    const sentAt = Date.now();
    // The examination of the server itself says that it cannot be reached.
    const date = await fetchText(backchannel, { method: 'HEAD' }).then(
      ({ headers }) => headers.get('date'),
      () => null,
    );
    const theirs = Date.parse(date ?? '');
    if (Number.isNaN(theirs)) return [];
    // The answer was made at some time between request and receipt, and its `Date` is cut to the second.
    const behind = Math.max(0, theirs - Date.now());
    const ahead = Math.max(0, sentAt - theirs - GRANULARITY_MS);
    const text = `the clock differs from that of ${name} by ${Math.round(Math.max(behind, ahead) / 1000)} s`;
    if (Math.max(behind, ahead) <= clockToleranceMs) return [on.ok(text)];
    const remedy = 'its tokens are taken for expired or not yet valid: synchronize both by NTP';
    return [on.fail(`${text}; clock_tolerance is ${clockToleranceMs / 1000} s`, remedy)];
  });
  return (await Promise.all(found)).flat();
}

/** Examines an upstream, with the gateway's own header fields and without a caller; it calls no tool. */
export function examineUpstream(route: Route): Promise<Finding> {
  const { protocol, upstream } = route;
  const on = findingsOn(`routes.${route.name}.upstream`);
  const url = serverUrl(upstream);
  return protocol === 'mcp' ? examineMcp(on, url, route) : examineHttp(on, url, questionHeaders(upstream));
}

async function examineMcp(on: Findings, url: string, { upstream, policy }: Route): Promise<Finding> {
  try {
    const { revision, tools: all } = await listTools(url, { headers: questionHeaders(upstream) });
    const listed = policy === undefined ? all : all.filter(({ name }) => policy.toolEntry(name) !== undefined);
    const names = all.length === 1 ? '1 tool' : `${all.length} tools`;
    const ofPolicy = policy === undefined ? '' : `, of which the policy lists ${listed.length}`;
    const text = `${url} speaks MCP ${revision} and has ${names}${ofPolicy}`;
    const closed = listed.filter(({ name, inner }) => inner !== undefined && policy?.callsOthers(name) === false);
    const [first] = closed;
    if (policy === undefined || first?.inner === undefined) return on.ok(text);
    const tools = closed.map(({ name }) => escaped(name)).join(', ');
    const { name, arguments: args } = first.inner;
    return on.warn(
      `${text}; by their schemas, these call other tools, which the policy does not see: ${tools}`,
      `write \`inner: { name: ${name}, arguments: ${args} }\` in the entry of ${escaped(first.name)}`,
    );
  } catch (error) {
    if (!(error instanceof McpServerFault)) throw error;
    const text = `${url} ${error.kind === 'unreachable' ? `cannot be reached (${error.message})` : error.message}`;
    if (error.kind === 'unreachable')
      return on.fail(
        text,
        remedyForReason(error.message, 'start it, and check that upstream.url holds from this machine'),
      );
    if (error.kind === 'host') return on.fail(text, remedyForHost(url));
    if (error.kind === 'other') return on.fail(text, 'set upstream.url to the URL of its MCP endpoint');
    if (upstream.token !== 'none') return on.ok(`${text}; the gateway sends it a token (${upstream.token})`);
    if (lacksFields(upstream)) return on.ok(`${text}; the gateway sends it headers by the caller (upstream.headers)`);
    return on.fail(text, 'disable its own authorization, or set upstream.token or upstream.headers');
  }
}

async function examineHttp(on: Findings, url: string, headers: Headers): Promise<Finding> {
  try {
    const { status } = await fetchText(url, { method: 'HEAD', fields: headers, fetchBy: fetch });
    // RFC 9110 §15.5.20.
    if (status === 421)
      return on.fail(`${url} answered 421: it checks Host, and does not serve this one`, remedyForHost(url));
    if (status < 500) return on.ok(`${url} answers (${status} to HEAD)`);
    return on.warn(`${url} answered ${status} to HEAD`, 'look at its log');
  } catch (error) {
    const reason = reasonOf(error);
    const remedy = remedyForReason(reason, 'start it, and check that upstream.url holds from this machine');
    return on.fail(`${url} cannot be reached (${reason})`, remedy);
  }
}

const DAY_MS = 24 * 3_600_000;
/** Certificates of automatic authorities are renewed about 30 days before their end. */
const SOON_MS = 14 * DAY_MS;
const TIMEOUT_MS = 5000;

/** Examines the gateway's own certificate, and those of each https server that it or its clients call. */
export async function examineCertificates(config: Config, now: number): Promise<readonly Finding[]> {
  const remote = await Promise.all(
    [...httpsOrigins(config)].map(([origin, subject]) => examineRemote(origin, subject, now)),
  );
  return [...(await examineOwn(config, now)), ...remote.flat()];
}

async function examineOwn({ tls }: Config, now: number): Promise<readonly Finding[]> {
  if (tls === undefined) return [];
  const on = findingsOn('tls');
  const ca = tls.clientCa === 'any' ? undefined : tls.clientCa;
  const { certificates, faults = [] } = await readCertificates({ cert: tls.cert, key: tls.key, ca }, now);
  if (certificates !== undefined) return [endOf(on, 'the certificate', certificates.expiresAt, now)];
  return faults.map(({ file, message }) =>
    on.fail(`the file of ${file} ${message}`, 'replace the file; no restart is needed'),
  );
}

function httpsOrigins({ publicUrl, authorizationServers, routes }: Config): ReadonlyMap<string, string> {
  const own = [
    ...[...authorizationServers].map(
      ([name, { backchannel }]) => [new URL(backchannel).origin, `authorization_servers.${name}`] as const,
    ),
    [publicUrl, 'public_url'] as const,
  ];
  const named = [
    ...routes.map(({ name, upstream }) => [upstream.origin, `routes.${name}.upstream`] as const),
    // What a proxy leads to cannot be looked at past it.
    ...own.filter(([origin]) => !isLed(new URL(origin))),
  ];
  return new Map(named.filter(([origin]) => origin.startsWith('https:')));
}

async function examineRemote(origin: string, subject: string, now: number): Promise<readonly Finding[]> {
  const on = findingsOn(subject);
  const socket = await secured(new URL(origin));
  // The examination of the server itself says that it cannot be reached.
  if (socket === undefined) return [];
  const { authorized, authorizationError } = socket;
  const { valid_to: end } = socket.getPeerCertificate();
  socket.destroy();
  if (authorized) return [endOf(on, `the certificate of ${origin}`, Date.parse(end), now)];
  return [
    on.fail(
      `the certificate of ${origin} is not trusted: ${reasonOf(authorizationError)}`,
      'repair it, or set NODE_EXTRA_CA_CERTS to its authority',
    ),
  ];
}

/** A connection with a TLS handshake, whatever its certificate; undefined if there is none in time. */
function secured({ hostname, port }: URL): Promise<TLSSocket | undefined> {
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(port === '' ? 443 : port),
      ...(/[a-z]/i.test(host) && !host.includes(':') && { servername: host }),
      // Examined instead of refused. Nothing is sent over this connection.
      rejectUnauthorized: false,
    });
    const fail = (): void => {
      socket.destroy();
      resolve(undefined);
    };
    socket.setTimeout(TIMEOUT_MS, fail);
    socket.on('error', fail);
    socket.on('secureConnect', () => resolve(socket));
  });
}

function endOf(on: Findings, what: string, expiresAt: number, now: number): Finding {
  const until = `${what} is valid until ${new Date(expiresAt).toISOString().slice(0, 10)}`;
  if (expiresAt - now > SOON_MS) return on.ok(until);
  return on.warn(`${until}, in ${Math.floor((expiresAt - now) / DAY_MS)} days`, 'renew it');
}
