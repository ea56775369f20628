import type { Fields } from '../model/fields.ts';
import { Denial } from '../model/denial.ts';
import type { MessageId } from '../model/grant.ts';
import { decodedValue } from './field-value.ts';
import type { ToolHeader } from './tool-headers.ts';

/**
 * The guarantee that the `Mcp-Param-*` headers of a call say what its arguments say (MCP 2026-07-28, §Custom Headers): a hop
 * that routes by a header must not be led away from the argument that was decided on. A header for an argument that is
 * absent is refused too: servers ignore it, such a hop would not.
 *
 * @throws {Denial} `message.header_mismatch` (-32020), also for a header that is missing or stands twice.
 */
export function requireParamHeaders(
  declared: readonly ToolHeader[],
  args: unknown,
  { names, raw }: Pick<Fields, 'names' | 'raw'>,
  messageId: MessageId,
): void {
  for (const { field, path, isNumber } of declared) {
    const place = names.indexOf(field);
    const value = argumentAt(args, path);
    const wanted = textOf(value);
    if (place === -1) {
      // What no header can carry is not expected in one.
      if (wanted === undefined) continue;
      throw mismatch(`${field} is missing`, messageId);
    }
    const sent = decodedValue((raw[2 * place + 1] as string).trim());
    if (names.includes(field, place + 1)) throw mismatch(`two ${field}`, messageId);
    const agrees = isNumber && typeof value === 'number' ? sameNumber(sent, wanted) : sent === wanted;
    if (wanted === undefined || !agrees) throw mismatch(`${field} is not what the argument says`, messageId);
  }
}

const decimal = /^-?\d+(?:\.\d+)?$/;

function sameNumber(sent: string | undefined, wanted: string | undefined): boolean {
  if (sent === wanted) return true;
  return sent !== undefined && decimal.test(sent) && Number(sent) === Number(wanted);
}

/** An argument as a header says it; undefined for what none can say: absent, null, a container, an integer that is not exact. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

function argumentAt(args: unknown, path: readonly string[]): unknown {
  let value = args;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}

function mismatch(detail: string, messageId: MessageId): Denial {
  return new Denial('message.header_mismatch', detail, { messageId });
}
