/** JSON.parse; undefined for a text that is not JSON, which JSON itself cannot say. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * JSON.stringify, `''` for what is no JSON; undefined for a value that nests thousands of levels deep, which JSON.parse
 * can read and JSON.stringify cannot write.
 */
export function writtenJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) ?? '';
  } catch {
    return undefined;
  }
}
