import { resolve } from 'node:path';
import { durationMs, sizeBytes } from '../lib/quantity.ts';
import type { Schema } from './schema.ts';
import * as values from './values.ts';

/** What reads a text, by the word in `x-form` of its schema. The value is a text too. */
export const textForms = {
  adminToken: values.adminToken,
  algorithm: values.algorithm,
  allowedOrigin: values.allowedOrigin,
  choice: values.anyText,
  claimName: values.claimName,
  endpointUrl: values.endpointUrl,
  /** A path. A relative one starts at the folder of the file. */
  file: (text: string, folder: string) => resolve(folder, text),
  headerValue: values.headerValue,
  hostName: values.hostName,
  issuerUrl: values.issuerUrl,
  longSecret: values.longSecret,
  method: values.method,
  network: values.network,
  origin: values.origin,
  pageUrl: values.pageUrl,
  plainUrl: values.plainUrl,
  resourceUri: values.resourceUri,
  routePath: values.routePath,
  scope: values.scope,
  text: values.anyText,
  tokenType: values.tokenType,
} as const;

/** The same, where the value is no text. */
export const parsedForms = {
  address: values.address,
  recordedArgument: values.recordedArgument,
  recordedClaim: values.recordedClaim,
  upstreamUrl: values.upstreamUrl,
} as const;

/** Quantities with a unit, and how the name of a setting ends that has the number. */
export const quantities = {
  duration: { parse: durationMs, unit: 'Ms', less: 'short', more: 'long' },
  size: { parse: sizeBytes, unit: 'Bytes', less: 'small', more: 'large' },
} as const;

type ParsedForm = keyof typeof textForms | keyof typeof parsedForms;

/** How `Field.value` reads a value: by `x-form`, or by the type. */
export type Form = ParsedForm | keyof typeof quantities | 'boolean' | 'number' | 'list';

/** What reads a text. @param folder That of the file. */
export const parsers: Readonly<Record<ParsedForm, (text: string, folder: string) => unknown>> = {
  ...textForms,
  ...parsedForms,
};

/**
 * The form of a value; undefined for a mapping, for what may be one, and for a list of these.
 *
 * @param resolve Merges a schema with the definition that its `$ref` names.
 */
export function formOf(schema: Schema, resolve: (schema: Schema) => Schema): Form | undefined {
  const { 'x-form': form, type, anyOf = [], ...own } = resolve(schema);
  if (type === 'object' || Array.isArray(type)) return undefined;
  const branches: readonly Schema[] = [own, ...anyOf.map(resolve)];
  const { items } = branches.find((branch) => branch.items !== undefined) ?? {};
  if (items !== undefined) return formOf(items, resolve) === undefined ? undefined : 'list';
  if (form !== undefined) return form as Form;
  if (type === 'boolean') return 'boolean';
  if (branches.some(({ minimum }) => minimum !== undefined)) return 'number';
  return branches.some((branch) => branch.enum !== undefined) ? 'choice' : 'text';
}

/** What is read in the place of a required value that is missing or wrong. */
export function emptyOf(form: Form): unknown {
  if (form in parsedForms) return undefined;
  return form in textForms ? '' : 0;
}

/** The name that code has for a key: `proof_lifetime` as `proofLifetimeMs`. */
export function settingName(key: string, form: Form): string {
  const name = key.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return name + (form in quantities ? quantities[form as keyof typeof quantities].unit : '');
}
