import {
  type ChangedDefinition,
  type Definition,
  definitionKey,
  type Definitions,
  type Sighting,
} from '../../model/lock.ts';

/** All differences between approved definitions and those that a server shows, sorted by kind and name. */
export function differences(approved: Definitions, shown: readonly Definition[]): readonly ChangedDefinition[] {
  const twice = keysTwiceIn(shown);
  const byKey = new Map(shown.map((each) => [definitionKey(each), each]));
  const found = [...byKey].map(([key, each]) => differenceOf({ definition: each, isTwice: twice.has(key) }, approved));
  const gone = [...approved].flatMap(([key, { kind, name }]): ChangedDefinition[] =>
    byKey.has(key) ? [] : [{ kind, name, difference: 'gone', members: [] }],
  );
  return [...found.filter((each) => each !== undefined), ...gone].toSorted((one, other) =>
    definitionKey(one) < definitionKey(other) ? -1 : 1,
  );
}

/** How a definition differs from the approved one; undefined if it does not. */
export function differenceOf({ definition, isTwice }: Sighting, approved: Definitions): ChangedDefinition | undefined {
  const { kind, name, sha256, members } = definition;
  const known = approved.get(definitionKey(definition));
  if (known === undefined) return { kind, name, difference: 'new', members: [] };
  if (known.sha256 !== sha256)
    return { kind, name, difference: 'changed', members: changedMembers(known.members, members) };
  return isTwice ? { kind, name, difference: 'twice', members: [] } : undefined;
}

/** The keys of the definitions that stand more than once. */
export function keysTwiceIn(shown: readonly Definition[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const twice = new Set<string>();
  for (const key of shown.map(definitionKey)) {
    if (seen.has(key)) twice.add(key);
    seen.add(key);
  }
  return twice;
}

/** The names of members that two definitions do not have in common, sorted; empty where a lock has no members. */
function changedMembers(
  approved: Readonly<Record<string, string>>,
  shown: Readonly<Record<string, string>>,
): readonly string[] {
  const known = Object.keys(approved);
  if (known.length === 0) return [];
  const names = new Set([...known, ...Object.keys(shown)]);
  return [...names].filter((name) => approved[name] !== shown[name]).toSorted();
}

/** A difference in words, for messages: `tool "pay": description changed`. */
export function inWords(changed: ChangedDefinition): string {
  const { kind, name, members } = changed;
  const what = kind === 'instructions' ? kind : `${kind} ${JSON.stringify(name)}`;
  return `${what}${members.length === 0 ? '' : ':'} ${verbOf(changed)}`;
}

/** What is the matter with a definition, in words: `description changed`. */
export function verbOf({ difference, members }: ChangedDefinition): string {
  const verb = { changed: 'changed', new: 'is new', twice: 'appears twice', gone: 'is gone' }[difference];
  return members.length === 0 ? verb : `${members.join(', ')} ${verb}`;
}
