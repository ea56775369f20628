import { Slot } from '../../core/model/slot.ts';

interface ConsoleSettings {
  /** The URL of the dashboard for history. */
  readonly grafana: string | undefined;
}

/** `console`. */
export const consoleSettings = new Slot<ConsoleSettings>();
