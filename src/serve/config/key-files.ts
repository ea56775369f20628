import { resolve } from 'node:path';
import type { GatewayKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import type { Files } from '../../core/config/files.ts';
import { reject } from '../../core/config/values.ts';
import type { TextOrFault } from '../../core/lib/files.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';

/** Begins the path of a key set, in place of a URL. */
export const FILE = 'file:';

/** A JWK Set of public keys. */
export interface KeySetDocument {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

/** The key sets of authorization servers that are files. */
export interface KeyFiles {
  /** The files that were read, whether they are there or not. */
  readonly files: readonly string[];
  /** The key set of a path as it is written. @throws {InvalidValue} */
  keySetIn(path: string): KeySetDocument;
}

/** Reads the files of `jwt.jwks`. @param base The folder of `gateway.yaml`. */
export async function openKeyFiles(
  field: Field<GatewayKeys['authorization_servers']>,
  base: string,
  files: Files,
): Promise<KeyFiles> {
  const texts = new Map<string, TextOrFault>();
  for (const [, server] of field.entries()) {
    const place = server.get('jwt').get('jwks').json();
    if (typeof place !== 'string' || !place.startsWith(FILE)) continue;
    const path = resolve(base, place.slice(FILE.length));
    texts.set(path, await files.text(path));
  }
  return {
    files: [...texts.keys()],
    keySetIn(path) {
      const { text, fault = 'does not exist' } = texts.get(resolve(base, path)) ?? {};
      return text === undefined ? reject(`names a file that ${fault}`) : publicKeySet(text);
    },
  };
}

/** Members of a JWK that are secret, RFC 7518 §6. */
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'] as const;

/** A JWK Set of public keys. @throws {InvalidValue} */
export function publicKeySet(text: string): KeySetDocument {
  const body = parsedJson(text);
  const keys: unknown = isObject(body) ? body['keys'] : undefined;
  if (!Array.isArray(keys) || !keys.every(isObject)) return reject('names a file that is no JWK Set');
  if (keys.some((key) => secretMembers.some((member) => Object.hasOwn(key, member))))
    reject('names a file with a private or symmetric key: write public ones only');
  return { keys };
}
