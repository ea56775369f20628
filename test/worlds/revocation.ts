import { startTransmitter, transmitterToken, type Transmitter, push } from '../support/transmitter.ts';
import { startWorld, type World } from './gateway.ts';

/** A gateway that takes events of a transmitter, an issuer whose people they speak of, and an upstream with streams. */
export interface RevocationWorld extends World {
  readonly transmitter: Transmitter;
  /** Pushes a SET to the gateway. */
  readonly push: (set: string, options?: Parameters<typeof push>[2]) => ReturnType<typeof push>;
  /** Pushes a signed event about `alice`, or another subject. */
  event(uri: string, subject?: unknown, event?: Readonly<Record<string, unknown>>): ReturnType<typeof push>;
  /** The subject of a person at the issuer. */
  readonly person: (sub?: string) => { format: 'iss_sub'; iss: string; sub: string };
  /** Opens an event stream; resolves with what ends it once it is open. */
  stream(token: string): Promise<{ readonly over: Promise<string> }>;
}

export interface RevocationWorldOptions {
  /** More lines below `revocation`, each indented by two. */
  readonly revocation?: string;
  /** Replaces the source. */
  readonly source?: (transmitter: string) => string;
  /** More lines at the top level. */
  readonly yaml?: string;
  readonly transmitter?: Transmitter;
  /** `admin`, in YAML. */
  readonly admin?: string;
}

const pushed = (issuer: string): string =>
  `issuer: ${issuer}, delivery: push, path: /events, subjects: main, may_revoke: [second]`;
const client = 'client_id: gateway, client_secret: s3cr3t';

/** Starts it. Routes: `/api` (JWT and opaque tokens), `/exchanged`. */
export async function startRevocationWorld(options: RevocationWorldOptions = {}): Promise<RevocationWorld> {
  const transmitter = options.transmitter ?? (await startTransmitter());
  const { source = pushed, revocation = '', yaml = '' } = options;
  const world = await startWorld({
    upstream(request, response) {
      if (request.url !== '/api/stream') return void response.end('{}');
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    },
    top: `
revocation:
  events:
    okta: { ${source(transmitter.url)} }
${revocation}
${yaml}`,
    server: `jwt: { algorithms: [RS256] }, introspection: { ${client}, cache: 10m }`,
    servers: 'second: { issuer: "https://second.example", jwt: { algorithms: [RS256] } }',
    routes: [
      'name: api, path: /api, authorization_servers: [main], audience: a, upstream: { url: "UPSTREAM/api" }',
      `name: exchanged, path: /exchanged, authorization_servers: [main], audience: a, upstream: { url: "UPSTREAM/exchanged", token: exchange, exchange: { server: main, ${client}, audience: b } }`,
    ],
    env: () => ({ TRANSMITTER_TOKEN: transmitterToken }),
    admin: options.admin,
  });
  const person = (sub = 'alice') => ({ format: 'iss_sub', iss: world.issuer.url, sub }) as const;
  const pushHere: RevocationWorld['push'] = (set, how) => push(`${world.gateway.url}/events`, set, how);
  return {
    ...world,
    transmitter,
    person,
    push: pushHere,
    event: async (uri, subject = person(), event) => pushHere(await transmitter.sign(uri, subject, event)),
    async stream(token) {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${world.gateway.url}/api/stream`, { headers });
      if (response.status !== 200) throw new Error(`${response.status}`);
      const reader = response.body?.getReader();
      await reader?.read();
      const rest = async (): Promise<string> => ((await reader?.read())?.done === false ? rest() : 'end');
      return { over: rest().catch(() => 'broken') };
    },
    async close() {
      await world.close();
      await transmitter.close();
    },
  };
}
