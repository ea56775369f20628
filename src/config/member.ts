/** A member of a mapping or list, own ones only: a server may be called `constructor`. */
export function member(value: unknown, key: string | number): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key) as unknown;
}
