import type { ClientCredentials } from '../../src/model/authorization-server.ts';
import type { Config } from '../../src/model/config.ts';

/** A shorter secret, or a plain word, would be found where nobody wrote it. */
const MIN_LENGTH = 8;

/** What a secret begins with, by which it is looked for. */
const secrets = new Map<string, Set<string>>();

/** Something that the gateway wrote. */
interface Print {
  readonly place: string;
  readonly text: string;
}

const prints: Print[] = [];

/** What looks like a secret though no test said so: a token, a private key. */
const patterns: Readonly<Record<string, RegExp>> = {
  'a JWT': /eyJ[\w-]{10,}\.[\w-]{10,}\./,
  'a private key': /-----BEGIN [A-Z ]*PRIVATE KEY-----|"d":"[\w-]{40,}"/,
};

/** From now on, nothing that the gateway prints may contain it; of a JWT, neither its claims nor its signature. */
export function keepSecret(value = ''): void {
  const parts = value.startsWith('eyJ') ? value.split('.').slice(1) : [value];
  for (const part of parts) {
    if (part.length < MIN_LENGTH || /^[a-z]+$/.test(part)) continue;
    const start = part.slice(0, MIN_LENGTH);
    secrets.set(start, (secrets.get(start) ?? new Set()).add(part));
  }
}

/** The credential of an `Authorization` header: a token, or what a client shows by RFC 6749 §2.3.1. */
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

/** The secrets of a request to an authorization server, RFC 7662 §2.1 and RFC 8693 §2.1. */
export function keepForm(body: string): void {
  const form = new URLSearchParams(body);
  for (const name of ['token', 'subject_token', 'actor_token', 'client_secret', 'client_assertion']) {
    keepSecret(form.get(name) ?? undefined);
  }
}

/** Every secret of a configuration. */
export function keepConfig({ admin, authorizationServers, routes, sessionKey, shared, telemetry }: Config): void {
  keepSecret(admin?.token);
  keepSecret(sessionKey);
  keepSecret(shared && new URL(shared.url).password);
  for (const value of Object.values(telemetry?.headers ?? {})) keepSecret(value);
  for (const { introspection } of authorizationServers.values()) keepClient(introspection?.credentials);
  for (const { upstream } of routes) {
    if (upstream.token.kind === 'exchange') keepClient(upstream.token.exchange.credentials);
  }
}

function keepClient(credentials: ClientCredentials | undefined): void {
  if (credentials === undefined) return;
  if (credentials.clientAuth === 'private_key_jwt') keepSecret(credentials.key.export({ format: 'jwk' }).d);
  else keepSecret(credentials.clientSecret);
}

/** The gateway has printed `text`, for people or for whoever calls. */
export function printed(place: string, text: string): void {
  prints.push({ place, text });
}

/** Lets go of what was printed so far: a long run would keep all of it. */
export function forgetPrints(): void {
  prints.length = 0;
}

const adminPorts = new Set<string>();

/** What is answered there, the gateway says itself. */
export function adminAt(url: string | undefined): void {
  if (url !== undefined) adminPorts.add(new URL(url).port);
}

export function isAdmin(port: number | undefined): boolean {
  return adminPorts.has(String(port));
}

/** Where a secret was printed, each with a little of it. @param among Default: all that was printed. */
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
