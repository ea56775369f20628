import { hopByHop, nominatedBy } from './request-headers.ts';

/** What of an upstream's header section goes to the client. */
export interface ResponseHeaders {
  /** name, value, name, value, … */
  readonly fields: string[];
  readonly hasDate: boolean;
  /** `text/event-stream`: each event goes on as it comes. */
  readonly isEventStream: boolean;
}

/**
 * The header section for the client: without what is about the upstream's connection, and an event stream without a
 * length (some servers send one) and with the word that keeps other proxies from buffering it.
 */
export function responseHeaders(raw: readonly (Buffer | string)[]): ResponseHeaders {
  const all: string[] = [];
  let connection = '';
  let hasDate = false;
  let isEventStream = false;
  for (let i = 0; i < raw.length; i += 2) {
    const name = text(raw[i]);
    const value = text(raw[i + 1]);
    const lower = name.toLowerCase();
    if (lower === 'connection') connection += `,${value}`;
    if (hopByHop.has(lower)) continue;
    if (lower === 'date') hasDate = true;
    if (lower === 'content-type') isEventStream ||= /^text\/event-stream *(?:;|$)/i.test(value);
    all.push(name, value);
  }
  const dropped = new Set(connection === '' ? [] : nominatedBy(connection));
  if (isEventStream) dropped.add('content-length').add('x-accel-buffering');
  const fields = dropped.size === 0 ? all : without(all, dropped);
  if (isEventStream) fields.push('x-accel-buffering', 'no');
  return { fields, hasDate, isEventStream };
}

function without(fields: readonly string[], names: ReadonlySet<string>): string[] {
  const kept: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string;
    if (!names.has(name.toLowerCase())) kept.push(name, fields[i + 1] as string);
  }
  return kept;
}

/** RFC 9110 §5.5: field values are octets; latin1 keeps each one. */
function text(part: Buffer | string | undefined): string {
  return typeof part === 'string' ? part : (part?.toString('latin1') ?? '');
}
