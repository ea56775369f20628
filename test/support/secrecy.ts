import type { ClientCredentials } from '../../src/core/model/authorization-server.ts';
import type { Config } from '../../src/ports/config.ts';
import type { Route } from '../../src/core/model/route.ts';

/** A shorter secret, or a plain word, would be found by coincidence. */
const MIN_LENGTH = 8;

/** Secrets by their first characters. */
const secrets = new Map<string, Set<string>>();

/** A text that the gateway wrote. */
interface Print {
  readonly place: string;
  readonly text: string;
}

const prints: Print[] = [];

/** What looks like a secret even if no test registered it: a token, a private key. */
const patterns: Readonly<Record<string, RegExp>> = {
  /** The signature of a checkpoint is public. */
  'a JWT': /(?<!"jws":")eyJ[\w-]{10,}\.[\w-]{10,}\./,
  'a private key': /-----BEGIN [A-Z ]*PRIVATE KEY-----|"d":"[\w-]{40,}"/,
};

/** Registers a secret that the gateway must not print; for a JWT, its claims and its signature. */
export function keepSecret(value = ''): void {
  const parts = value.startsWith('eyJ') ? value.split('.').slice(1) : [value];
  for (const part of parts) {
    if (part.length < MIN_LENGTH || /^[a-z]+$/.test(part)) continue;
    const start = part.slice(0, MIN_LENGTH);
    secrets.set(start, (secrets.get(start) ?? new Set()).add(part));
  }
}

/** Registers the credential of an `Authorization` header: a token, or a client secret by RFC 6749 §2.3.1. */
export function keepCredential(authorization: string | undefined): void {
  const [, scheme = '', credential] = /^(\S+) +(.+)$/.exec(authorization ?? '') ?? [];
  keepSecret(credential);
  if (scheme.toLowerCase() === 'basic')
    keepSecret(
      Buffer.from(credential ?? '', 'base64')
        .toString()
        .split(':')[1],
    );
}

/** Registers the secrets of a request to an authorization server, RFC 7662 §2.1 and RFC 8693 §2.1. */
export function keepForm(body: string): void {
  const form = new URLSearchParams(body);
  for (const name of ['token', 'subject_token', 'actor_token', 'client_secret', 'client_assertion']) {
    keepSecret(form.get(name) ?? undefined);
  }
}

/** Registers every secret of a configuration. */
export function keepConfig(config: Config): void {
  const { admin, authorizationServers, frontDoor, routes, sessionKey, shared } = config;
  keepSecret(admin?.token);
  keepSecret(sessionKey);
  keepSecret(shared && new URL(shared.url).password);
  keepSettings(config.slots);
  for (const { introspection } of authorizationServers.values()) keepClient(introspection?.credentials);
  keepSecret(frontDoor?.clients.registration?.initialAccessToken);
  for (const { secret } of frontDoor?.clients.registered.values() ?? []) keepSecret(secret);
  for (const { credentials } of frontDoor?.providers.values() ?? []) {
    if (credentials.clientAuth !== 'none') keepClient(credentials);
  }
  for (const route of routes) {
    const fields: string[] = [];
    route.upstream.ownFields?.addTo(fields, undefined);
    for (let i = 1; i < fields.length; i += 2) keepSecret(fields[i]);
    keepSettings(route.slots);
  }
}

/** Registers the secrets in settings of capabilities: credentials of clients, and fields for other servers. */
function keepSettings(slots: Route['slots'] = new Map()): void {
  const seen = new Set<unknown>();
  const keepIn = (settings: unknown): void => {
    if (typeof settings !== 'object' || settings === null || seen.has(settings)) return;
    seen.add(settings);
    if ('clientAuth' in settings && settings.clientAuth !== 'none') keepClient(settings as ClientCredentials);
    if ('headers' in settings) for (const value of Object.values(settings.headers ?? {})) keepSecret(String(value));
    for (const member of Object.values(settings)) keepIn(member);
  };
  for (const settings of slots.values()) keepIn(settings);
}

function keepClient(credentials: ClientCredentials | undefined): void {
  if (credentials === undefined) return;
  if (credentials.clientAuth === 'private_key_jwt') keepSecret(credentials.key.export({ format: 'jwk' }).d);
  else keepSecret(credentials.clientSecret);
}

/** Records text that the gateway printed, in its log or in an answer. */
export function printed(place: string, text: string): void {
  prints.push({ place, text });
}

/** Forgets the recorded text, for long runs. */
export function forgetPrints(): void {
  prints.length = 0;
}

/** Forgets the registered secrets. The next test file may print the same text for another reason. */
export function forgetSecrets(): void {
  secrets.clear();
}

const adminPorts = new Set<string>();

/** Registers an admin listener, all answers of which are the gateway's own. */
export function adminAt(url: string | undefined): void {
  if (url !== undefined) adminPorts.add(new URL(url).port);
}

/** Forgets an admin listener that is about to close: another server may get its port, and answers with tokens. */
export function noLongerAdminAt(url: string | undefined): void {
  if (url !== undefined) adminPorts.delete(new URL(url).port);
}

export function isAdmin(port: number | undefined): boolean {
  return adminPorts.has(String(port));
}

/** The places where a secret was printed, each with its beginning. @param among Default: all recorded text. */
export function disclosures(among: readonly Print[] = prints): readonly string[] {
  const found = new Set<string>();
  for (const { place, text } of among) {
    for (const [what, pattern] of Object.entries(patterns)) {
      if (pattern.test(text)) found.add(`${place}: ${what}`);
    }
    for (let at = 0; at + MIN_LENGTH <= text.length; at += 1) {
      for (const secret of secrets.get(text.slice(at, at + MIN_LENGTH)) ?? []) {
        if (text.startsWith(secret, at)) found.add(`${place}: ${secret.slice(0, 4)}… (${secret.length} characters)`);
      }
    }
  }
  return [...found];
}
