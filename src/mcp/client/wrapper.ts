import { isObject, ownMember } from '../../core/lib/json/own-member.ts';

/** Where the arguments of a tool name another tool that it calls, as JSON Pointers: `inner` of its entry. */
export interface NamedCall {
  readonly name: string;
  readonly arguments: string;
}

const names = ['tool_name', 'toolName', 'name'] as const;
const objects = ['arguments', 'parameters', 'params', 'input'] as const;

/**
 * Recognizes a tool that calls others by its input schema: a required text that is called as a tool's name would be,
 * beside an object that is called as arguments would be. The server may have others.
 */
export function namedCallIn(inputSchema: unknown): NamedCall | undefined {
  const properties = ownMember(inputSchema, 'properties');
  const required = ownMember(inputSchema, 'required');
  if (!isObject(properties) || !Array.isArray(required)) return undefined;
  const name = names.find((each) => required.includes(each) && hasType(properties[each], 'string'));
  const args = objects.find((each) => hasType(properties[each], 'object'));
  return name === undefined || args === undefined ? undefined : { name: `/${name}`, arguments: `/${args}` };
}

/** Whether values may have a type; `anyOf` and `oneOf` are how generators write a type or null. */
function hasType(schema: unknown, wanted: string): boolean {
  const type = ownMember(schema, 'type');
  if (type === wanted || (Array.isArray(type) && type.includes(wanted))) return true;
  return ['anyOf', 'oneOf'].some((keyword) => {
    const branches = ownMember(schema, keyword);
    return Array.isArray(branches) && branches.some((each) => ownMember(each, 'type') === wanted);
  });
}
