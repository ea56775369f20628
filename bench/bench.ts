import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportSPKI, importJWK } from 'jose';
import { startIssuer, type Issuer } from '../test/support/issuer.ts';
import type { Contender, Running, Surroundings } from './contender.ts';
import { startNginx } from './contenders/nginx.ts';
import { notOnPath, written } from './machine/process.ts';
import type { Line } from './table.ts';
import { jsonAnswer, eventAnswer, listAnswer } from './answers.ts';

/** The number and the length of the measurements, and the contenders. */
export interface BenchOptions {
  readonly rounds: number;
  /** The duration of one measurement. */
  readonly seconds: number;
  /** Other checkouts of the gateway, as further contenders. */
  readonly against: readonly string[];
  /** The names of the other contenders; undefined: all of them. */
  readonly only: readonly string[] | undefined;
}

/** The environment of the scenarios. */
export interface Bench extends BenchOptions {
  readonly surroundings: Surroundings;
  readonly issuer: Issuer;
  /** A JWT of about 800 bytes that every contender accepts. Each one is different. */
  token(claims?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Starts the installed contenders, prints the missing ones, and stops all after `use`. */
  readonly with: <Result>(
    contenders: readonly Contender[],
    use: (running: ReadonlyMap<string, Running>) => Promise<Result>,
    otherwise?: Partial<Surroundings>,
  ) => Promise<Result>;
  readonly close: () => Promise<void>;
}

/** A benchmark. */
export interface Scenario {
  readonly name: string;
  /** What it measures, in a sentence. */
  readonly about: string;
  readonly run: (bench: Bench) => Promise<readonly Line[]>;
}

const AUDIENCE = 'https://api.example';

/** Starts the issuer and the upstream. */
export async function startBench(options: BenchOptions): Promise<Bench> {
  const missing = notOnPath('nginx') ?? notOnPath('wrk') ?? notOnPath('taskset');
  if (missing !== undefined) throw new Error(`${missing}: the load and the upstream need it`);
  const folder = await mkdtemp(join(tmpdir(), 'sallyport-bench-'));
  const issuer = await startIssuer();
  const upstream = await startUpstream(folder);
  const key = await importJWK(issuer.key.publicJwk, 'RS256', { extractable: true });
  const publicKey = await written(
    join(folder, 'public.pem'),
    await exportSPKI(key as Parameters<typeof exportSPKI>[0]),
  );
  const surroundings = { upstream: upstream.url, issuer: issuer.url, publicKey, audience: AUDIENCE, folder };
  let made = 0;
  return {
    ...options,
    issuer,
    surroundings,
    token(claims = {}) {
      made += 1;
      const padding = 'x'.repeat(60);
      return issuer.sign({
        aud: AUDIENCE,
        scope: 'read',
        tenant: 'acme',
        client_id: 'bench',
        jti: String(made).padStart(8, '0'),
        padding,
        exp: Math.floor(Date.now() / 1000) + 24 * 3600,
        ...claims,
      });
    },
    async with(contenders, use, otherwise = {}) {
      const running = new Map<string, Running>();
      try {
        for (const contender of contenders) {
          const why = contender.missing?.();
          if (why === undefined) running.set(contender.name, await contender.start({ ...surroundings, ...otherwise }));
          else console.log(`  ${contender.name} is skipped: ${why}`);
        }
        return await use(running);
      } finally {
        await Promise.all([...running.values()].map(({ stop }) => stop()));
      }
    },
    async close() {
      await upstream.stop();
      await issuer.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function startUpstream(folder: string): Promise<Running> {
  const own = join(folder, 'upstream');
  await written(join(own, 'list.json'), listAnswer);
  const upstream = await startNginx(
    own,
    'other',
    (host) => `
  server {
    listen ${host} backlog=16384;
    default_type application/json;
    location / { return 200 '${jsonAnswer}'; }
    # No server knows the length of an event stream. The filter, which finds nothing, removes it.
    location /mcp {
      default_type text/event-stream; sub_filter_types text/event-stream; sub_filter 'no such text' '';
      return 200 '${eventAnswer}';
    }
    # nginx serves files to GET alone. The redirection makes one of a POST.
    location = /mcp/list { error_page 405 =200 /list.json; return 405; }
    location = /list.json { root ${own}; }
  }`,
  );
  const list = await fetch(`${upstream.url}/mcp/list`, { method: 'POST' });
  if ((await list.text()) !== listAnswer) throw new Error('the upstream does not answer with the list');
  return upstream;
}
