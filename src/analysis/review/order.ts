/** Orders texts by code units, so that the order is the same everywhere. */
export function byCodeUnits(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
