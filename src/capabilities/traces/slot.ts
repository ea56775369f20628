import { Slot } from '../../core/model/slot.ts';

/** The collector of spans. */
export interface Telemetry {
  /** The collector's base URL, OTLP over HTTP, without a trailing slash. */
  readonly otlp: string;
  /** `service.name` of the spans. */
  readonly serviceName: string;
  /** The fraction of traces to record, from 0 to 1, if no party before the gateway has decided. */
  readonly sample: number;
  /** Whether the collector gets decision lines, as log records. */
  readonly logs: boolean;
  /** Sent to the collector; secrets. */
  readonly headers: Readonly<Record<string, string>>;
}

/** `telemetry`; undefined: the gateway makes no spans. */
export const telemetry = new Slot<Telemetry>();
