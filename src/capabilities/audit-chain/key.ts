import { createPrivateKey, generateKeyPairSync, type JsonWebKey, randomUUID } from 'node:crypto';
import { link, readFile, unlink, writeFile } from 'node:fs/promises';
import { ConfigError, Problem } from '../../core/config/problems.ts';
import { keyThumbprint } from '../../core/lib/digest.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import { messageOf } from '../../core/lib/wording.ts';
import type { CheckpointKey } from './chain.ts';

/** The keys of a file: the first signs, and all are published. */
export interface AuditKeys {
  readonly signing: CheckpointKey;
  /** A JWK Set (RFC 7517 §5) without private members. */
  readonly published: { readonly keys: readonly JsonWebKey[] };
}

/**
 * Reads the key that signs checkpoints, a JWK or a JWK Set of Ed25519 keys. If the file does not exist, makes one that
 * only its owner may read.
 *
 * @throws {ConfigError} for a file that holds none, or that cannot be read or written.
 */
export async function openAuditKeys(path: string): Promise<AuditKeys> {
  const text = (await textOf(path)) ?? (await made(path));
  const value = parsedJson(text);
  const found: unknown = isObject(value) && Array.isArray(value['keys']) ? value['keys'] : [value];
  const keys = (found as unknown[]).filter(isEd25519);
  const [first] = keys;
  if (first === undefined || keys.length < (found as unknown[]).length || first.d === undefined)
    throw fault(path, 'is not a JWK of an Ed25519 private key, or a JWK Set that begins with one');
  let key;
  try {
    key = createPrivateKey({ key: first, format: 'jwk' });
  } catch (error) {
    throw fault(path, `has no valid Ed25519 private key: ${messageOf(error)}`);
  }
  return { signing: { kid: kidOf(first), key }, published: { keys: keys.map(published) } };
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw fault(path, `cannot be read: ${messageOf(error)}`);
  }
}

/** Several processes may start at once: the file appears whole, and only one of them makes it. */
async function made(path: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const jwk = privateKey.export({ format: 'jwk' });
  const text = `${JSON.stringify({ ...jwk, kid: kidOf(jwk), alg: 'EdDSA', use: 'sig' })}\n`;
  const draft = `${path}.${randomUUID()}.new`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    await link(draft, path).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    });
  } catch (error) {
    throw fault(path, `does not exist, and cannot be made: ${messageOf(error)}`);
  } finally {
    await unlink(draft).catch(() => {});
  }
  return (await textOf(path)) ?? text;
}

interface Ed25519Key extends JsonWebKey {
  readonly kid?: string;
}

function isEd25519(value: unknown): value is Ed25519Key {
  return isObject(value) && value['kty'] === 'OKP' && value['crv'] === 'Ed25519' && typeof value['x'] === 'string';
}

/** Its own, or its thumbprint, RFC 8037 appendix A.3. */
export function kidOf({ kid, x = '' }: Ed25519Key): string {
  return kid ?? keyThumbprint({ crv: 'Ed25519', kty: 'OKP', x });
}

function published(key: Ed25519Key): JsonWebKey {
  return { kty: 'OKP', crv: 'Ed25519', x: key.x, kid: kidOf(key), alg: 'EdDSA', use: 'sig' } as JsonWebKey;
}

function fault(path: string, message: string): ConfigError {
  return new ConfigError([new Problem(path, undefined, [], message)], []);
}
