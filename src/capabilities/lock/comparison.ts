import type { StrictCalls } from './strict-calls.ts';
import {
  type ChangedDefinition,
  type Definition,
  definitionKey,
  type DefinitionKind,
  type Definitions,
} from '../../mcp/definitions.ts';

/** What was last seen of a definition. */
export interface Sighting {
  readonly definition: Definition;
  /** Whether it stood more than once in the list. */
  readonly isTwice: boolean;
  /** Present if a whole list no longer had it. Only what was not approved is forgotten for that. */
  readonly isGone?: true;
}

/** How many definitions are remembered that were not approved, and how long their names may be. */
const MAX_NEW = 1000;
const MAX_NAME = 256;

/** The comparison of what one server shows with what was approved. The newest sighting of a definition counts. */
export class LockComparison {
  readonly #approved: Definitions;
  /** Undefined: arguments are not judged. */
  readonly strict: StrictCalls | undefined;
  readonly #seen = new Map<string, Sighting>();
  /** The definitions that were not approved, the oldest first. */
  readonly #unapproved = new Map<string, Sighting>();
  /** The names that appeared twice in the last look. A page that passes may show one of both alone. */
  #twiceInLook: ReadonlySet<string> = new Set();
  #hasLooked = false;
  /** What passed since the gateway's own look began; undefined after its end. */
  #duringLook: Set<string> | undefined;

  constructor(approved: Definitions, strict?: StrictCalls) {
    this.#approved = approved;
    this.strict = strict;
  }

  /**
   * Takes note of a list that passes, which may be one page of several.
   *
   * @param whole The kind of the list if it is no page: what it lacks and was not approved is gone.
   * @returns What it changed.
   */
  pass(shown: readonly Definition[], whole?: DefinitionKind): readonly Sighting[] {
    return [...this.#forgetOthers(shown, (kind) => kind === whole), ...this.#noteAll(shown, keysTwiceIn(shown))];
  }

  /** The gateway begins to look: from now on, what passes is newer than what it will have been shown. */
  beginLook(): void {
    this.#duringLook = new Set();
  }

  /**
   * Takes note of everything that the gateway itself was shown, but for what passed meanwhile. The server may have
   * shown the gateway what was approved, and a client something else since.
   *
   * @returns What it changed.
   */
  look(shown: readonly Definition[]): readonly Sighting[] {
    this.#hasLooked = true;
    this.#twiceInLook = keysTwiceIn(shown);
    const newer = this.#duringLook ?? new Set();
    this.#duringLook = undefined;
    const older = shown.filter((each) => !newer.has(definitionKey(each)));
    return [...this.#forgetOthers(shown, () => true, newer), ...this.#noteAll(older, this.#twiceInLook)];
  }

  /** Takes note of what another process saw. @returns what it changed. */
  adopt(sightings: readonly Sighting[]): readonly Sighting[] {
    return sightings.flatMap((each) => (each.isGone ? this.#forget(each) : this.#note(each.definition, each.isTwice)));
  }

  verdict({ kind, name }: Pick<Definition, 'kind' | 'name'>): 'approved' | 'unverified' | ChangedDefinition {
    const key = definitionKey({ kind, name });
    if (!this.#approved.has(key)) return { kind, name, difference: 'new', members: [] };
    const sighting = this.#seen.get(key);
    if (sighting === undefined) return this.#hasLooked ? 'approved' : 'unverified';
    return this.#differenceOf(sighting) ?? 'approved';
  }

  /** The verdict on a tool that another one calls. One that the server shows to no client needs no approval. */
  innerVerdict(name: string): 'approved' | 'unverified' | ChangedDefinition {
    const tool = { kind: 'tool', name } as const;
    const verdict = this.verdict(tool);
    const key = definitionKey(tool);
    if (this.#approved.has(key)) return verdict;
    if (!this.#hasLooked) return 'unverified';
    // Where names are no longer remembered, any of them may be shown.
    const mayBeForgotten = this.#unapproved.size >= MAX_NEW || name.length > MAX_NAME;
    return mayBeForgotten || this.#unapproved.has(key) ? verdict : 'approved';
  }

  /** What differs now. Definitions that no list has shown do not. */
  differing(): readonly ChangedDefinition[] {
    return this.sightings()
      .map((each) => this.#differenceOf(each))
      .filter((each) => each !== undefined);
  }

  #differenceOf(sighting: Sighting): ChangedDefinition | undefined {
    const { kind, name } = sighting.definition;
    const difference = differenceOf(sighting, this.#approved);
    const fault = kind === 'tool' ? this.strict?.faultOf(name) : undefined;
    if (difference !== undefined || fault === undefined) return difference;
    return { kind, name, difference: 'changed', members: [], fault };
  }

  /** Everything that it has taken note of. */
  sightings(): readonly Sighting[] {
    return [...this.#seen.values(), ...this.#unapproved.values()];
  }

  /** The same sightings, compared with other definitions. */
  with(approved: Definitions, strict?: StrictCalls): LockComparison {
    const comparison = new LockComparison(approved, strict);
    comparison.#twiceInLook = this.#twiceInLook;
    comparison.#hasLooked = this.#hasLooked;
    comparison.adopt(this.sightings());
    return comparison;
  }

  #note(definition: Definition, isTwice: boolean): readonly Sighting[] {
    const key = definitionKey(definition);
    const known = this.#seen.get(key) ?? this.#unapproved.get(key);
    const approved = this.#approved.get(key);
    const isApproved = approved !== undefined;
    if (!isApproved && definition.name.length > MAX_NAME) return [];
    this.#duringLook?.add(key);
    // Only approved schemas are kept and compiled: a server may show anything, as often as it likes.
    const mayKeep = approved?.sha256 === definition.sha256 && definition.schemas !== undefined;
    const strict = mayKeep ? this.strict : undefined;
    const lacksSchemas = strict?.has(definition.name) === false;
    if (known?.definition.sha256 === definition.sha256 && known.isTwice === isTwice && !lacksSchemas) return [];
    strict?.take(definition);
    // The members of what was not approved say nothing.
    const { schemas, ...plain } = definition;
    const kept = strict === undefined ? plain : { ...plain, schemas };
    const sighting = { definition: isApproved ? kept : { ...plain, members: {} }, isTwice };
    (isApproved ? this.#seen : this.#unapproved).set(key, sighting);
    // The server chooses names, and must not fill the memory.
    for (const oldest of this.#unapproved.keys()) {
      if (this.#unapproved.size <= MAX_NEW) break;
      this.#unapproved.delete(oldest);
      this.#duringLook?.delete(oldest);
    }
    return [sighting];
  }

  #noteAll(shown: readonly Definition[], twice: ReadonlySet<string>): readonly Sighting[] {
    return shown.flatMap((each) => {
      const key = definitionKey(each);
      return this.#note(each, twice.has(key) || this.#twiceInLook.has(key));
    });
  }

  #forget(sighting: Sighting): readonly Sighting[] {
    return this.#unapproved.delete(definitionKey(sighting.definition)) ? [{ ...sighting, isGone: true }] : [];
  }

  /** Forgets what was not approved and is not shown. What was approved stays as it was last seen. */
  #forgetOthers(
    shown: readonly Definition[],
    isListed: (kind: DefinitionKind) => boolean,
    newer: ReadonlySet<string> = new Set(),
  ): readonly Sighting[] {
    const present = new Set(shown.map(definitionKey));
    return [...this.#unapproved]
      .filter(([key, { definition }]) => isListed(definition.kind) && !present.has(key) && !newer.has(key))
      .flatMap(([, each]) => this.#forget(each));
  }
}

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

/** The difference of a definition, in words: `description changed`. */
export function verbOf({ difference, members, fault }: ChangedDefinition): string {
  if (fault !== undefined) return `its schemas cannot be used: ${fault}`;
  const verb = { changed: 'changed', new: 'is new', twice: 'appears twice', gone: 'is gone' }[difference];
  return members.length === 0 ? verb : `${members.join(', ')} ${verb}`;
}
