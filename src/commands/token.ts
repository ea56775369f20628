import { readFile } from 'node:fs/promises';
import { text as stdinText } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientKey } from '../tokens/servers/settings.ts';
import { InvalidValue, issuerUrl } from '../core/config/values.ts';
import { boundedAnswer } from '../core/lib/http/bodies.ts';
import { ownFetch } from '../tokens/servers/own-fetch.ts';
import { ownMember } from '../core/lib/json/own-member.ts';
import { parsedJson } from '../core/lib/json/parsed.ts';
import { printable, reasonOf } from '../core/lib/wording.ts';
import type { ClientCredentials } from '../core/model/authorization-server.ts';
import { type ExitCode, Failure, print, unreadable, UsageError } from '../capabilities/terminal.ts';
import { createClientAuthentication } from '../tokens/servers/client-authentication.ts';
import type { OptionsOf } from './options.ts';

type TokenOptions = OptionsOf<'token'>;

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 256 * 1024;
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const jwtBearerGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** RFC 8628 §3.5: the interval of polls by default, and what `slow_down` adds to it. */
const POLL_SECONDS = 5;
const MAX_POLL_SECONDS = 60;

/**
 * `sallyport token`: gets a token of an authorization server for a job, a workload or a terminal, and prints it.
 *
 * @throws {UsageError} for other options than those of one form.
 * @throws {Failure} if the server gives no token.
 */
export async function token(options: TokenOptions): Promise<ExitCode> {
  const issuer = issuerOf(options);
  const form = formOf(options);
  const { client = '', resource, scope } = options;
  const asked = { ...(resource !== undefined && { resource }), ...(scope !== undefined && { scope }) };
  // Read before anything is sent.
  const authenticate =
    form === 'device' || form === 'workload' ? undefined : await credentialsOf(form, options, client);
  const assertion = form === 'workload' ? (await fileText(options.workload ?? '')).trim() : '';
  const server = await metadataOf(issuer);
  switch (form) {
    case 'device':
      return printed(await tokenOfDevice(server, client, asked));
    case 'workload':
      return printed(granted(await post(server.token, { grant_type: jwtBearerGrant, assertion, ...asked })));
    case 'client-secret':
    case 'key': {
      const body = new URLSearchParams({ grant_type: 'client_credentials', ...asked });
      const sent = await createClientAuthentication(issuer, Date.now)(body, authenticate as ClientCredentials);
      return printed(granted(await post(server.token, sent.body, sent.headers)));
    }
  }
}

type Form = 'client-secret' | 'key' | 'device' | 'workload';

function issuerOf({ issuer }: TokenOptions): string {
  if (issuer === undefined) throw new UsageError('token needs --issuer URL');
  try {
    return issuerUrl(issuer);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    throw new UsageError(`--issuer ${printable(issuer)} ${error.message}`);
  }
}

function formOf(options: TokenOptions): Form {
  const forms: readonly Form[] = ['client-secret', 'key', 'device', 'workload'];
  const [form, ...others] = forms.filter((name) => options[name] !== undefined && options[name] !== false);
  if (form === undefined || others.length > 0)
    throw new UsageError('token needs exactly one of --client-secret -, --key FILE, --device and --workload FILE');
  if (form === 'workload' && options.client !== undefined)
    throw new UsageError('--client does not apply with --workload: a workload is no client');
  if (form !== 'workload' && (options.client ?? '') === '') throw new UsageError(`--${form} needs --client ID`);
  return form;
}

async function credentialsOf(
  form: 'client-secret' | 'key',
  options: TokenOptions,
  clientId: string,
): Promise<ClientCredentials> {
  if (form === 'client-secret') {
    // The message must not repeat it: it may be the secret.
    if (options['client-secret'] !== '-')
      throw new UsageError('--client-secret takes only -, and reads the secret from stdin');
    const clientSecret = (await stdinText(process.stdin)).replace(/\r?\n$/, '');
    if (clientSecret === '') throw new UsageError('stdin has no secret');
    return { clientId, clientAuth: 'client_secret_basic', clientSecret };
  }
  const file = options.key ?? '';
  try {
    return { clientId, clientAuth: 'private_key_jwt', ...clientKey(await fileText(file)) };
  } catch (error) {
    if (error instanceof InvalidValue) throw new Failure(`${file}: ${error.message}`);
    throw error;
  }
}

async function fileText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

interface Endpoints {
  readonly token: string;
  readonly device: string | undefined;
}

/** Reads the metadata, RFC 8414 §3. Nothing else is sent to a server whose metadata name another issuer. */
async function metadataOf(issuer: string): Promise<Endpoints> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const urls = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
  ];
  let last = '';
  for (const url of urls) {
    const answer = await send(url, {});
    last = `${url} answered ${answer.status}`;
    if (answer.status !== 200) continue;
    const named = ownMember(answer.body, 'issuer');
    if (named !== issuer) throw new Failure(`${url} names another issuer: ${shown(named)}`);
    const [endpoint, device] = ['token_endpoint', 'device_authorization_endpoint'].map((name) => {
      const value = ownMember(answer.body, name);
      if (typeof value !== 'string' || !URL.canParse(value)) return undefined;
      // RFC 8414 §2. A party on the way would read the credentials.
      if (issuer.startsWith('https:') && new URL(value).protocol !== 'https:')
        throw new Failure(`${url} is wrong: its ${name} is not https: ${shown(value)}`);
      return value;
    });
    if (endpoint === undefined) throw new Failure(`${url} names no token_endpoint`);
    return { token: endpoint, device };
  }
  throw new Failure(`${issuer} has no metadata: ${last}`);
}

/** Shows the code to a person on stderr, and polls until the person has answered, RFC 8628 §3.3 and §3.4. */
async function tokenOfDevice(server: Endpoints, client: string, asked: Record<string, string>): Promise<string> {
  if (server.device === undefined) throw new Failure('the authorization server has no device grant');
  const answer = await post(server.device, { client_id: client, ...asked });
  if (answer.status !== 200) throw refusal(answer);
  const member = (name: string): string => textIn(answer.body, name);
  const [uri, complete] = [member('verification_uri'), member('verification_uri_complete')];
  const link = complete === '' ? '' : `, or open ${complete}`;
  process.stderr.write(`Open ${uri} and enter ${member('user_code')}${link}\n`);
  let seconds = secondsIn(answer.body, 'interval', POLL_SECONDS);
  const end = Date.now() + secondsIn(answer.body, 'expires_in', 600) * 1000;
  const form = {
    grant_type: deviceGrant,
    client_id: client,
    device_code: textIn(answer.body, 'device_code'),
  };
  while (Date.now() < end) {
    await sleep(seconds * 1000);
    const polled = await answerToPoll(server.token, form);
    if (polled === undefined) {
      seconds = Math.min(seconds * 2, MAX_POLL_SECONDS);
      continue;
    }
    const error = polled.status === 200 ? undefined : ownMember(polled.body, 'error');
    if (error === 'slow_down') seconds += POLL_SECONDS;
    else if (error !== 'authorization_pending') return granted(polled);
  }
  throw new Failure('the code has expired');
}

/** Statuses of a server, or of a proxy in front of it, that cannot answer now. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** The answer to a poll; undefined: there is none now, and the next poll waits longer, RFC 8628 §3.5. */
async function answerToPoll(url: string, form: Record<string, string>): Promise<JsonAnswer | undefined> {
  try {
    const answer = await post(url, form);
    return passing.has(answer.status) ? undefined : answer;
  } catch (error) {
    if (error instanceof Unreachable) return undefined;
    throw error;
  }
}

function textIn(body: unknown, name: string): string {
  const value = ownMember(body, name);
  return typeof value === 'string' ? printable(value) : '';
}

/** A positive number of seconds, at most an hour. */
function secondsIn(body: unknown, name: string, otherwise: number): number {
  const value = ownMember(body, name);
  return typeof value === 'number' && value > 0 && value <= 3600 ? value : otherwise;
}

/** A server that gave no answer. */
class Unreachable extends Failure {}

interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
}

async function post(
  url: string,
  form: URLSearchParams | Record<string, string>,
  headers: Readonly<Record<string, string>> = {},
): Promise<JsonAnswer> {
  return send(url, { method: 'POST', headers, body: new URLSearchParams(form) });
}

/** @throws {Failure} without an answer, and for a redirect: it could lead the credentials elsewhere. */
async function send(url: string, request: RequestInit): Promise<JsonAnswer> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await ownFetch(url, { ...request, redirect: 'manual', signal });
    const { status } = answer;
    if (status >= 300 && status < 400) throw new Failure(`${url} answered with a redirect`);
    return { status, body: parsedJson(await (await boundedAnswer(answer, MAX_BYTES)).text()) };
  } catch (error) {
    throw error instanceof Failure ? error : new Unreachable(`${url} cannot be reached (${reasonOf(error)})`);
  }
}

function granted(answer: JsonAnswer): string {
  const found = ownMember(answer.body, 'access_token');
  if (answer.status !== 200 || typeof found !== 'string' || found === '') throw refusal(answer);
  return found;
}

function refusal({ status, body }: JsonAnswer): Failure {
  const [error, description] = [ownMember(body, 'error'), ownMember(body, 'error_description')];
  const why = typeof description === 'string' ? `: ${shown(description)}` : '';
  return new Failure(
    `the authorization server answered ${status}${typeof error === 'string' ? ` ${shown(error)}` : ''}${why}`,
  );
}

function shown(value: unknown): string {
  return printable(typeof value === 'string' ? value.slice(0, 200) : typeof value);
}

/** What leaves the token alone on standard output, so that a script can take it from there. */
function printed(accessToken: string): ExitCode {
  if (!/^[!-~]+$/.test(accessToken)) throw new Failure('the token has other characters than visible ASCII');
  return print(`${accessToken}\n`);
}
