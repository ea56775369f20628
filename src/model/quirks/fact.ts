/** What a product was found to do. */
export interface Fact {
  readonly text: string;
  /** A thread, as `owner/repository#number`, or a URL. */
  readonly source: string;
  /** When the source was read, `YYYY-MM`. */
  readonly month: string;
}

/** The page of a source. */
export function sourceUrl(source: string): string {
  return source.replace(/^([\w.-]+\/[\w.-]+)#([0-9]+)$/, 'https://github.com/$1/issues/$2');
}
