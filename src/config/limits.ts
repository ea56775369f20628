import type { Config } from '../model/config.ts';
import type { Rate } from '../model/route.ts';
import type { GatewayKeys, RateKeys } from '../../schema/validators.js';
import type { Field } from './field.ts';
import { reject } from './values.ts';

/** `limits`, except the default rate of routes. */
export function readLimits(field: Field<GatewayKeys['limits']>): Config['limits'] {
  return {
    requestBodyBytes: field.get('request_body').size(),
    requestHeadersBytes: field.get('request_headers').size(),
    failures: readRate(field.get('failures')),
  };
}

/** A rate; undefined for `off`. */
export function readRate(field: Field<RateKeys | undefined>): Rate | undefined {
  if (field.entries().length === 0) {
    field.read((text) =>
      text === 'off' ? text : reject('is neither off nor a rate such as { requests: 100, per: 1s }'),
    );
    return undefined;
  }
  const requests = field.get('requests').number() ?? 1;
  return {
    requests,
    perMs: field.get('per').duration() ?? 1,
    burst: field.get('burst').number() ?? requests,
  };
}
