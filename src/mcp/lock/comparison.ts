import {
  type ChangedDefinition,
  type Definition,
  definitionKey,
  type DefinitionKind,
  type Definitions,
  type Sighting,
} from '../../model/lock.ts';

/** What a lock says of a definition: how it differs, or that nothing was compared yet. */
type DefinitionVerdict = 'approved' | 'unverified' | ChangedDefinition;

/** The comparison of what one server shows with what was approved. The newest sighting of a definition counts. */
export interface LockComparison {
  /**
   * Takes note of a list that passes, which may be one page of several.
   *
   * @param whole The kind of the list if it is no page: what it lacks and was not approved is gone.
   * @returns What it changed.
   */
  pass(shown: readonly Definition[], whole?: DefinitionKind): readonly Sighting[];
  /** Takes note of everything that the gateway itself was shown. @returns what it changed. */
  look(shown: readonly Definition[]): readonly Sighting[];
  /** Takes note of what another process saw. @returns what it changed. */
  adopt(sightings: readonly Sighting[]): readonly Sighting[];
  verdict(definition: Pick<Definition, 'kind' | 'name'>): DefinitionVerdict;
  /** What differs now. Definitions that no list has shown do not. */
  differing(): readonly ChangedDefinition[];
  /** Everything that it has taken note of. */
  sightings(): readonly Sighting[];
  /** The same sightings, compared with other definitions. */
  with(approved: Definitions): LockComparison;
}

/** How many definitions are remembered that were not approved, and how long their names may be. */
const MAX_NEW = 1000;
const MAX_NAME = 256;

/**
 * Creates the comparison with `approved`.
 *
 * @param before The sightings of an earlier comparison with the same server.
 */
export function createComparison(approved: Definitions, before: Sightings = nothing): LockComparison {
  const seen = new Map<string, Sighting>();
  /** Those that were not approved, the oldest first. */
  const unapproved = new Map<string, Sighting>();
  let { twiceInLook, hasLooked } = before;
  for (const { definition, isTwice } of before.sightings) note(definition, isTwice);

  function note(definition: Definition, isTwice: boolean): readonly Sighting[] {
    const key = definitionKey(definition);
    const known = seen.get(key) ?? unapproved.get(key);
    if (known?.definition.sha256 === definition.sha256 && known.isTwice === isTwice) return [];
    const isApproved = approved.has(key);
    if (!isApproved && definition.name.length > MAX_NAME) return [];
    // The members of what was not approved say nothing.
    const sighting = { definition: isApproved ? definition : { ...definition, members: {} }, isTwice };
    (isApproved ? seen : unapproved).set(key, sighting);
    // The server chooses names, and must not fill the memory.
    for (const oldest of unapproved.keys()) {
      if (unapproved.size <= MAX_NEW) break;
      unapproved.delete(oldest);
    }
    return [sighting];
  }

  function forget(sighting: Sighting): readonly Sighting[] {
    return unapproved.delete(definitionKey(sighting.definition)) ? [{ ...sighting, isGone: true }] : [];
  }

  /** Forgets what was not approved and is not shown. What was approved stays as it was last seen. */
  function forgetOthers(
    shown: readonly Definition[],
    isListed: (kind: DefinitionKind) => boolean,
  ): readonly Sighting[] {
    const present = new Set(shown.map(definitionKey));
    return [...unapproved]
      .filter(([key, { definition }]) => isListed(definition.kind) && !present.has(key))
      .flatMap(([, each]) => forget(each));
  }

  const sightings = (): readonly Sighting[] => [...seen.values(), ...unapproved.values()];

  function noteAll(shown: readonly Definition[], twice: ReadonlySet<string>): readonly Sighting[] {
    return shown.flatMap((each) => {
      const key = definitionKey(each);
      return note(each, twice.has(key) || twiceInLook.has(key));
    });
  }

  return {
    pass: (shown, whole) => [...forgetOthers(shown, (kind) => kind === whole), ...noteAll(shown, keysTwiceIn(shown))],
    look(shown) {
      hasLooked = true;
      twiceInLook = keysTwiceIn(shown);
      return [...forgetOthers(shown, () => true), ...noteAll(shown, twiceInLook)];
    },
    adopt: (sightings) =>
      sightings.flatMap((each) => (each.isGone ? forget(each) : note(each.definition, each.isTwice))),
    verdict(definition) {
      const key = definitionKey(definition);
      const { kind, name } = definition;
      if (!approved.has(key)) return { kind, name, difference: 'new', members: [] };
      const sighting = seen.get(key);
      if (sighting === undefined) return hasLooked ? 'approved' : 'unverified';
      return differenceOf(sighting, approved) ?? 'approved';
    },
    differing: () =>
      sightings()
        .map((each) => differenceOf(each, approved))
        .filter((each) => each !== undefined),
    sightings,
    with: (others) => createComparison(others, { sightings: sightings(), twiceInLook, hasLooked }),
  };
}

/** What a comparison remembers. */
interface Sightings {
  readonly sightings: readonly Sighting[];
  /** What appeared twice in the last look. A page that passes may show one of both alone. */
  readonly twiceInLook: ReadonlySet<string>;
  readonly hasLooked: boolean;
}

const nothing: Sightings = { sightings: [], twiceInLook: new Set(), hasLooked: false };

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
function differenceOf({ definition, isTwice }: Sighting, approved: Definitions): ChangedDefinition | undefined {
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
