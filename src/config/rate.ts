import type { Rate } from '../model/route.ts';
import type { Field } from './field.ts';
import { duration, refuse } from './values.ts';

/** A rate, or `off`: undefined. Where nothing is said, it is `unsaid`. */
export function readRate(field: Field, unsaid: Rate | undefined): Rate | undefined {
  if (!field.present) return unsaid;
  if (field.entries().length === 0) {
    field.read((text) =>
      text === 'off' ? text : refuse('is neither off nor a rate such as { requests: 100, per: 1s }'),
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
