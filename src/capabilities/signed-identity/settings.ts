import type { UpstreamKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { identityHeader } from '../../core/config/identity-header.ts';
import { anyText, claimName, reject } from '../../core/config/values.ts';
import { plainFieldName } from '../../core/model/client-fields.ts';
import type { Upstream } from '../../core/model/route.ts';
import type { SignedIdentity } from './slot.ts';

/** `identity.signed` of an upstream. */
export function readSignedIdentity(
  identity: Field<UpstreamKeys['identity']>,
  { origin, path }: Pick<Upstream, 'origin' | 'path'>,
): SignedIdentity | undefined {
  const signed = identity.get('signed');
  const names = identity.entries().map(([name]) => name);
  const spelt = new Map(
    names.filter((name) => name !== 'signed').map((name) => [plainFieldName(name.toLowerCase()), name]),
  );
  return signed.present ? readSigned(signed, origin + path, spelt) : undefined;
}

/** A header name alone, or a mapping. */
function readSigned(
  field: Field<NonNullable<UpstreamKeys['identity']>['signed']>,
  upstream: string,
  spelt: ReadonlyMap<string, string>,
): SignedIdentity {
  const header = field.get('header').present ? field.get('header') : field;
  return {
    header: header.read((text) => signedHeader(text, spelt)) ?? '',
    audience: field.get('audience').read(anyText) ?? upstream,
    claims: field.get('claims').list(signedClaim),
  };
}

function signedHeader(text: string, spelt: ReadonlyMap<string, string>): string {
  const { name, fault } = identityHeader(text);
  if (fault !== undefined) reject(fault);
  const alike = spelt.get(plainFieldName(name));
  return alike === undefined ? name : reject(`is the same header as ${alike}`);
}

/** Members that the gateway sets in every statement, or that a verifier would interpret itself. */
const own: ReadonlySet<string> = new Set([
  'iss',
  'aud',
  'sub',
  'client_id',
  'scope',
  'token_issuer',
  'jti',
  'iat',
  'exp',
  'nbf',
  'cnf',
]);

function signedClaim(text: string): string {
  if (own.has(text)) reject('is reserved in a signed identity');
  return claimName(text);
}
