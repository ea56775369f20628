import type { GatewayKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { headerValue, plainUrl, reject } from '../../core/config/values.ts';
import { hopByHop } from '../../core/lib/http/header-fields.ts';
import type { Telemetry } from './slot.ts';

/** Headers that the exporter sets itself, and headers that change how a message is parsed. */
const taken: ReadonlySet<string> = new Set([
  ...hopByHop,
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'user-agent',
]);

type TelemetryKeys = NonNullable<GatewayKeys['telemetry']>;

/** Reads `telemetry`. Problems are reported to the fields. */
export function readTelemetry(field: Field<TelemetryKeys>): Telemetry {
  const otlp = field.get('otlp').read(collectorUrl) ?? '';
  return { ...field.settings(), otlp, headers: readHeaders(field.get('headers')) };
}

/** The base URL, as OTLP §1.1 calls it; `/v1/traces` or `/v1/logs` comes after it. */
function collectorUrl(text: string): string {
  const url = plainUrl(text).replace(/\/+$/, '');
  const [end] = /\/v1\/(?:traces|logs)$/.exec(url) ?? [];
  if (end !== undefined) reject(`ends with ${end}, which the gateway appends itself`, 'leave that out');
  return url;
}

function readHeaders(field: Field<TelemetryKeys['headers']>): Readonly<Record<string, string>> {
  const headers = new Map<string, string>();
  for (const [key, value] of field.entries()) {
    const name = key.toLowerCase();
    if (taken.has(name)) value.addProblem('is reserved: the gateway sets it itself', 'key');
    if (headers.has(name)) value.addProblem('is given twice', 'key');
    headers.set(name, value.read(headerValue) ?? '');
  }
  return Object.fromEntries(headers);
}
