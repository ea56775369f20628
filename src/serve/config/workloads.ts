import { resolve } from 'node:path';
import type { Files } from '../../core/config/files.ts';
import type { Field } from '../../core/config/field.ts';
import { certificates, endpointUrl, reject } from '../../core/config/values.ts';
import type { TextOrFault } from '../../core/lib/files.ts';
import type { ClaimsMapping, Workload } from '../../ports/front-door.ts';
import type { GatewayKeys, IdentityProviderKeys } from '../../../schema/validators.js';

type WorkloadsField = Field<NonNullable<GatewayKeys['front_door']>['workloads']>;
import { FILE, publicKeySet } from './key-files.ts';

/** The parsers of keys that workloads share with other parts of `front_door`. */
interface WorkloadParsers {
  /** The default audience. */
  readonly issuer: string;
  readonly readClaims: (field: Field<IdentityProviderKeys['claims']>) => ClaimsMapping;
  readonly readScopes: (field: Field<readonly string[] | undefined>) => readonly string[];
}

/** `front_door.workloads`, with the files that it names. */
export interface WorkloadReader {
  /** The files that were read, to watch. */
  readonly files: readonly string[];
  /** Problems are reported to the fields, and the result is then not used. */
  readonly read: (parsers: WorkloadParsers) => ReadonlyMap<string, Workload>;
}

/**
 * Reads the files of `workloads`: key sets and certificate authorities.
 *
 * @param base The folder of `gateway.yaml`.
 */
export async function openWorkloads(field: WorkloadsField, base: string, files: Files): Promise<WorkloadReader> {
  const paths = field.entries().flatMap(([, workload]) => {
    const [ca, jwks] = [workload.get('ca').text(), workload.get('jwks').text()];
    const keySetFile = jwks?.startsWith(FILE) === true ? jwks.slice(FILE.length) : undefined;
    return [ca, keySetFile].flatMap((path) => (path === undefined ? [] : [resolve(base, path)]));
  });
  const texts = new Map<string, TextOrFault>();
  for (const path of new Set(paths)) texts.set(path, await files.text(path));
  const fileOf =
    <T>(parse: (text: string) => T) =>
    (path: string): T => {
      const { text, fault } = texts.get(resolve(base, path)) ?? { fault: 'does not exist' };
      return text === undefined ? reject(`names a file that ${fault}`) : parse(text);
    };
  return { files: [...texts.keys()], read: (parsers) => readWorkloads(field, parsers, fileOf) };
}

function readWorkloads(
  field: WorkloadsField,
  { issuer: audience, readClaims, readScopes }: WorkloadParsers,
  fileOf: <T>(parse: (text: string) => T) => (path: string) => T,
): ReadonlyMap<string, Workload> {
  const keySetIn = fileOf(publicKeySet);
  return new Map(
    field.entries().map(([name, workload]) => {
      const keys = workload.settings();
      const settings: Workload = {
        ...keys,
        name,
        backchannel: keys.backchannel ?? keys.issuer,
        audience: keys.audience ?? audience,
        subjects: workload.get('subjects').list(subjectPattern),
        claims: readClaims(workload.get('claims')),
        scopes: readScopes(workload.get('scopes')),
        jwks: workload
          .get('jwks')
          .read((text) => (text.startsWith(FILE) ? keySetIn(text.slice(FILE.length)) : endpointUrl(text))),
        ca: workload.get('ca').read(fileOf(certificates)),
        token: workload.get('token').read(bearerToken),
      };
      return [name, settings] as const;
    }),
  );
}

/** A pattern of subjects. */
function subjectPattern(text: string): string {
  if (text.includes('***')) reject('has more than two * in a row');
  if (text.length > 255) reject('is longer than any sub: at most 255 characters');
  return /\p{Cc}/u.test(text) ? reject('has a control character') : text;
}

/** The value of a `Bearer` credential, RFC 6750 §2.1. */
function bearerToken(text: string): string {
  return /^[\w.~+/-]+=*$/.test(text) ? text : reject('is not a bearer token: a file has it without a line end');
}
