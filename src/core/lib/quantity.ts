const milliseconds: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const bytes: Readonly<Record<string, number>> = { B: 1, KiB: 1024, MiB: 1024 * 1024 };

/** Milliseconds of a duration such as `500ms`, `30s`, `5m`, `1h` or `90d`; undefined for any other text. */
export function durationMs(text: string): number | undefined {
  return quantity(text, milliseconds);
}

/** Bytes of a size such as `512B`, `16KiB` or `1MiB`; undefined for any other text. */
export function sizeBytes(text: string): number | undefined {
  return quantity(text, bytes);
}

function quantity(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const [, number, unit] = /^(0|[1-9][0-9]*)([A-Za-z]+)$/.exec(text) ?? [];
  const factor = unit !== undefined && Object.hasOwn(units, unit) ? units[unit] : undefined;
  return factor === undefined ? undefined : Number(number) * factor;
}
