const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of bytes, with a BOM if they begin with one; undefined for bytes that are not UTF-8. */
export function utf8Text(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
