import { isObject, ownMember } from '../lib/json/own-member.ts';
import { inTextOrder, type Path, type Problem } from './problems.ts';
import { isDefault, unresolved } from './placeholders.ts';
import { isSecret, quotedAt, type Violation } from './schema.ts';
import { fraction, InvalidValue, wholeNumber } from './values.ts';
import { withoutDefaults, withoutRandom } from '../lib/wording.ts';
import { problemIn, type YamlFile } from './yaml-file.ts';

/**
 * One place of `gateway.yaml`, present or not, with its placeholders replaced. Reading never throws: a problem is
 * reported and reading goes on, so that one run finds every problem.
 */
export interface Field {
  /** Whether the file has this key. */
  readonly present: boolean;
  /** The member of a mapping; an absent field if this is not a mapping or lacks it. */
  get(key: string): Field;
  /** The elements of a list; a single string counts as a list of one; otherwise none. */
  items(): readonly Field[];
  /** The members of a mapping; otherwise none. */
  entries(): readonly (readonly [key: string, field: Field])[];
  /** Whether it is an empty string, as a placeholder with an empty default may leave it. */
  isEmpty(): boolean;
  /** A string that is not empty. */
  text(): string | undefined;
  /** A string in the form that `parse` reads; `parse` throws {@link InvalidValue} for any other. */
  read<T>(parse: (text: string) => T): T | undefined;
  /** {@link read} of every element. An element that is listed twice is a problem. */
  list<T>(parse: (text: string) => T): readonly T[];
  /** A whole number that the schema accepts, or a placeholder for one. */
  whole(): number | undefined;
  /** A number from 0 to 1 by the schema, or a placeholder for one. */
  fraction(): number | undefined;
  /** Whether it says `true`. */
  isTrue(): boolean;
  /** The value as the file has it: with placeholders, but without their defaults. */
  source(): string;
  /** {@link source} in quotes, for a message. */
  quoted(): string;
  /** Reports a problem with this value or its key. */
  addProblem(message: string, part?: 'key' | 'value'): void;
}

/** Collects the problems of one file. */
export interface Report {
  /** Adds a violation of the schema. A problem with the same value from {@link Field.addProblem} replaces it. */
  note(violation: Violation): void;
  addProblem(path: Path, message: string, part?: 'key' | 'value'): void;
  /** In the order of the text. */
  problems(): readonly Problem[];
  /** The root of a document: as it was written, and with placeholders replaced. */
  root(source: unknown, expanded: unknown): Field;
}

/** A report that is still empty. */
export function createReport(file: YamlFile): Report {
  interface Entry extends Violation {
    /** Whether a problem with the same value replaces it: the words of a parser say more than those of the schema. */
    readonly isReplaceable: boolean;
  }
  const entries = new Map<string, Entry[]>();
  const at = (path: Path): Entry[] => {
    const key = JSON.stringify(path);
    const found = entries.get(key) ?? [];
    entries.set(key, found);
    return found;
  };
  const report: Report = {
    note: (violation) => void at(violation.path).push({ ...violation, isReplaceable: violation.part === 'value' }),
    addProblem(path, message, part = 'value') {
      const others = at(path).filter((entry) => !entry.isReplaceable && entry.message !== message);
      entries.set(JSON.stringify(path), [...others, { path, message, part, isReplaceable: false }]);
    },
    problems() {
      const problems = [...entries.values()].flat().map((violation) => problemIn(file, violation));
      return problems.toSorted(inTextOrder);
    },
    root: (source, expanded) => field(source, expanded, []),
  };
  return report;

  function field(source: unknown, value: unknown, path: Path): Field {
    const self: Field = {
      present: value !== undefined,
      get: (key) => field(ownMember(source, key), ownMember(value, key), [...path, key]),
      items() {
        if (typeof value === 'string') return [self];
        if (!Array.isArray(value)) return [];
        return value.map((each: unknown, index) => field(ownMember(source, index), each, [...path, index]));
      },
      entries() {
        if (!isObject(value)) return [];
        return Object.keys(value).map((key) => [key, self.get(key)] as const);
      },
      isEmpty: () => value === '',
      text() {
        if (typeof value === 'string' && value !== '') return value;
        if (value === '') report.addProblem(path, 'must not be empty');
        // The schema reports this in better words; this line covers a gap in the schema.
        else if (value !== undefined && value !== unresolved && at(path).length === 0)
          report.addProblem(path, 'expected a string');
        return undefined;
      },
      read(parse) {
        const text = self.text();
        if (text === undefined) return undefined;
        try {
          return parse(text);
        } catch (error) {
          if (!(error instanceof InvalidValue)) throw error;
          const hint = error.hint === undefined || text !== source ? '' : `; ${error.hint}`;
          const shown = self.quoted() + (isDefault(source, text) ? ' (its default)' : '');
          self.addProblem(`${shown} ${error.message}${hint}`);
          return undefined;
        }
      },
      list(parse) {
        const found = new Set<ReturnType<typeof parse>>();
        for (const item of self.items()) {
          const parsed = item.read(parse);
          if (parsed === undefined) continue;
          if (found.has(parsed)) item.addProblem('is listed twice');
          found.add(parsed);
        }
        return [...found];
      },
      whole: () => (typeof value === 'number' ? value : self.read(wholeNumber)),
      fraction: () => (typeof value === 'number' ? value : self.read(fraction)),
      isTrue: () => value === true,
      source: () =>
        isSecret(path) || typeof source !== 'string' ? 'the value' : withoutRandom(withoutDefaults(source)),
      quoted: () => (typeof source === 'string' ? quotedAt(path, source) : 'the value'),
      addProblem: (message, part) => report.addProblem(path, message, part),
    };
    return self;
  }
}
