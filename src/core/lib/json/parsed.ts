/** JSON.parse; undefined for a text that is not JSON, which JSON itself cannot say. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
