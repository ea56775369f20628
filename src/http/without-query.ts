/** A URL as it may be shown: its query may hold a key. */
export function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '?…');
}
