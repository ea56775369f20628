import type { GatewayKeys, SettingsOf } from '../../../schema/validators.js';
import { Slot } from '../../core/model/slot.ts';

/** `console`. */
export const consoleSettings = new Slot<SettingsOf<GatewayKeys['console']>>();
