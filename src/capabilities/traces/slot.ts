import type { GatewayKeys, SettingsOf } from '../../../schema/validators.js';
import { Slot } from '../../core/model/slot.ts';

/** The collector of spans. */
export type Telemetry = SettingsOf<GatewayKeys['telemetry']> & {
  /** The collector's base URL, OTLP over HTTP, without a trailing slash. */
  readonly otlp: string;
  /** Sent to the collector; secrets. */
  readonly headers: Readonly<Record<string, string>>;
};

/** `telemetry`; undefined: the gateway makes no spans. */
export const telemetry = new Slot<Telemetry>();
