/** How long a server asks to be left alone, in milliseconds, RFC 9110 §10.2.3; undefined for what says nothing of it. */
export function retryAfterMs(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  // Of the forms of a date only IMF-fixdate, which every sender MUST use (RFC 9110 §5.6.7): Date.parse takes any number
  // for one.
  const at = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? undefined : Math.max(at - now, 0);
}
