import {
  type ChangedDefinition,
  type Definition,
  definitionKey,
  type DefinitionKind,
  type Definitions,
  type Sighting,
} from '../../model/lock.ts';
import { differenceOf, keysTwiceIn } from './differences.ts';

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
