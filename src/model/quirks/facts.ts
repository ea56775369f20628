/**
 * What a product was found to do: by the month in which the source was read, `YYYY-MM`, and by the source, a thread as
 * `owner/repository#number` or a URL.
 */
export type Facts = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The page of a source. */
export function sourceUrl(source: string): string {
  return source.replace(/^([\w.-]+\/[\w.-]+)#([0-9]+)$/, 'https://github.com/$1/issues/$2');
}
