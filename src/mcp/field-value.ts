const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The text of a field value, MCP 2026-07-28 §Value Encoding: the value itself, or `=?base64?…?=` over UTF-8; undefined
 * where that is not well-formed.
 */
export function decodedValue(value: string): string | undefined {
  // Without its suffix it is not encoded, and stands for itself.
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value)?.[1];
  if (encoded === undefined) return undefined;
  const bytes = Buffer.from(encoded, 'base64');
  // Buffer accepts what other decoders refuse.
  if (bytes.toString('base64') !== encoded) return undefined;
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The field value of a text: the text itself where a field can carry it, else its encoding. */
export function encodedValue(value: string): string {
  const isPlain = /^[!-~](?:[ -~]*[!-~])?$/.test(value) && !value.startsWith('=?base64?');
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
