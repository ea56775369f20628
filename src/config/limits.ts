import type { Config } from '../model/config.ts';
import type { Rate } from '../model/route.ts';
import type { Field } from './field.ts';
import { duration, reject, size } from './values.ts';

/** `limits`, except the default rate of routes. */
export function readLimits(field: Field): Config['limits'] {
  return {
    requestBodyBytes: field.get('request_body').read(size('1024MiB')) ?? 1024 * 1024,
    requestHeadersBytes: field.get('request_headers').read(size('1MiB')) ?? 16 * 1024,
    failures: readRate(field.get('failures'), { requests: 100, perMs: 60_000, burst: 100 }),
  };
}

/** A rate; undefined for `off`; `fallback` for an absent field. */
export function readRate(field: Field, fallback: Rate | undefined): Rate | undefined {
  if (!field.present) return fallback;
  if (field.entries().length === 0) {
    field.read((text) =>
      text === 'off' ? text : reject('is neither off nor a rate such as { requests: 100, per: 1s }'),
    );
    return undefined;
  }
  const requests = field.get('requests').whole() ?? 1;
  return {
    requests,
    perMs: field.get('per').read(duration('1ms')) ?? 1,
    burst: field.get('burst').whole() ?? requests,
  };
}
