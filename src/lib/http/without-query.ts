/** A URL for logs and messages, without its query, which may hold a key. */
export function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '?…');
}
