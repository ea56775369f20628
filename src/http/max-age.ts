/** How long an answer is fresh by its `Cache-Control`, in milliseconds, RFC 9111 §5.2.2; undefined where it does not say. */
export function maxAgeMs(cacheControl: string | undefined): number | undefined {
  if (cacheControl === undefined) return undefined;
  const directives = cacheControl.split(',').map((directive) => directive.trim().toLowerCase());
  if (directives.includes('no-store') || directives.includes('no-cache')) return 0;
  const seconds = directives.map((directive) => /^max-age="?(\d+)"?$/.exec(directive)?.[1]).find(Boolean);
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
