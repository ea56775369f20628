import type { GatewayKeys, SettingsOf } from '../../../schema/validators.js';
import { Slot } from '../../core/model/slot.ts';

/** `log.chain`; undefined: lines are not linked. */
export const chainSettings = new Slot<SettingsOf<GatewayKeys['log']['chain']>>();
