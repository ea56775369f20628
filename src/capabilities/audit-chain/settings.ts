import { resolve } from 'node:path';
import type { GatewayKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import { Slot } from '../../core/model/slot.ts';

interface ChainSettings {
  /** The absolute path of the key, or the folder of keys. */
  readonly key: string;
  /** How often a checkpoint is written. */
  readonly everyMs: number;
}

/** `log.chain`; undefined: lines are not linked. */
export const chainSettings = new Slot<ChainSettings>();

/** Reads `log.chain`. @param base Relative paths start here. */
export function readChain(
  field: Field<NonNullable<GatewayKeys['log']>['chain']>,
  base: string,
): ChainSettings | undefined {
  if (!field.present) return undefined;
  return { key: resolve(base, field.get('key').text() ?? ''), everyMs: field.get('every').duration() };
}
