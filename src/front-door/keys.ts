import { hkdfSync, randomBytes } from 'node:crypto';
import { open, readFile, stat } from 'node:fs/promises';
import type { JWK } from 'oidc-provider';
import type { Clock } from '../core/lib/clock.ts';
import { createRotatingKeys } from '../tokens/rotating-keys.ts';

/** The keys of the front door, all derived from one secret. */
export interface Keys {
  /** Signs cookies. */
  readonly cookie: string;
  /** The signing keys of today, yesterday and tomorrow, as private JWKs; today's first. */
  signing(): readonly JWK[];
}

/** Why the file of `front_door.keys` cannot be used, in one line. */
export class KeysFault extends Error {
  override readonly name = 'KeysFault';
}

/** Derives the keys of `secret`. The signing keys change each day. */
export function createKeys(secret: string, clock: Clock): Keys {
  const rotating = createRotatingKeys(secret, 'front door');
  return {
    cookie: Buffer.from(hkdfSync('sha256', secret, 'sallyport', 'front door cookies', 32)).toString('base64url'),
    signing: () =>
      rotating
        .around(clock())
        .map(({ privateKey, publicKey }) => Object.assign(privateKey.export({ format: 'jwk' }), publicKey)),
  };
}

/**
 * The secret: that of the file, or derived from `session_key`, or random.
 *
 * @param file The path of `front_door.keys`. A missing file is created, for this user alone.
 * @throws {KeysFault} for a file that others may read, or that holds no secret.
 */
export async function readSecret(file: string | undefined, sessionKey: string | undefined): Promise<string> {
  if (file !== undefined) return (await created(file)) ?? (await read(file));
  if (sessionKey === undefined) return randomBytes(32).toString('hex');
  return Buffer.from(hkdfSync('sha256', sessionKey, '', 'sallyport front door v1: keys', 32)).toString('hex');
}

/** The secret of a new file; undefined: there is a file. */
async function created(file: string): Promise<string | undefined> {
  const secret = randomBytes(32).toString('hex');
  try {
    const handle = await open(file, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify({ secret })}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    return secret;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined;
    throw new KeysFault(`front_door.keys: ${(error as Error).message}`);
  }
}

async function read(file: string): Promise<string> {
  try {
    // A secret that other users of the machine may read signs tokens for them.
    if (((await stat(file)).mode & 0o077) !== 0)
      throw new KeysFault(`front_door.keys: ${file} is open to others: chmod 600`);
    const { secret } = JSON.parse(await readFile(file, 'utf8')) as { readonly secret?: unknown };
    if (typeof secret === 'string' && /^[0-9a-f]{64}$/.test(secret)) return secret;
  } catch (error) {
    if (error instanceof KeysFault) throw error;
    throw new KeysFault(`front_door.keys: ${file} cannot be read`);
  }
  throw new KeysFault(`front_door.keys: ${file} has no secret; delete it, and all people sign in again`);
}
