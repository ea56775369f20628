import { dirname } from 'node:path';
import type { SettingsOf } from '../../../schema/validators.js';
import { isObject, ownMember } from '../lib/json/own-member.ts';
import { didYouMean, withoutDefaults, withoutRandom } from '../lib/wording.ts';
import { emptyOf, type Form, formOf, parsers, quantities, settingName } from './forms.ts';
import {
  acceptsText,
  gateway,
  isSecret,
  memberSchema,
  numberIn,
  quotedAt,
  resolved,
  type Schema,
  textRefusal,
  type Violation,
  wordsOf,
} from './schema.ts';
import { inTextOrder, type Path, pathText, type Problem } from './problems.ts';
import { hasPlaceholder, isDefault, unresolved } from './placeholders.ts';
import { InvalidValue, reject } from './values.ts';
import { problemIn, type YamlFile } from './yaml-file.ts';

/** The value of a key for its reader: undefined only if its schema has no default. */
type OrAbsent<Keys, T> = T | (Keys & undefined);

/** A value as the file has it, and with its placeholders replaced. */
interface Written {
  readonly source: unknown;
  readonly value: unknown;
  readonly present: boolean;
  readonly isRequired: boolean;
}

type ItemOf<Keys> = Keys extends readonly (infer Item)[] ? Item : never;

type EntryOf<Keys> = Keys extends Readonly<Record<string, infer Entry>> ? Entry : never;

/**
 * A place of `gateway.yaml`, present or not, with its placeholders replaced. An absent key has the `default` of its
 * schema. Reading never throws: a problem is reported and reading goes on, so that one run finds every problem.
 *
 * @typeParam Keys The type of the value, as it is generated from the schema.
 */
export class Field<out Keys = unknown> {
  /** Whether the file has this key. */
  readonly present: boolean;
  readonly schema: Schema;
  readonly #report: Report;
  readonly #path: Path;
  readonly #source: unknown;
  readonly #value: unknown;
  /** Whether the mapping around it requires it. */
  readonly #isRequired: boolean;

  constructor(report: Report, path: Path, schema: Schema, about: Written) {
    this.#report = report;
    this.#path = path;
    this.schema = schema;
    this.#source = about.source;
    this.present = about.present;
    this.#isRequired = about.isRequired;
    this.#value = about.value === undefined ? schema.default : about.value;
  }

  /** The member of a mapping; an absent field if this is not a mapping or lacks it. */
  get<Key extends keyof NonNullable<Keys> & string>(key: Key): Field<NonNullable<Keys>[Key]> {
    const schema = memberSchema(this.schema, key);
    if (schema === undefined) throw new TypeError(`${pathText([...this.#path, key])} is not in the schema`);
    return this.#member(key, schema, this.schema.required?.includes(key));
  }

  /**
   * The values of a mapping by the names of settings, such as `proofLifetimeMs`, each as {@link value} reads it. Keys
   * with mappings, and with `x-setting: false`, are left out. Undefined: it is absent and has no default.
   */
  settings(): SettingsOf<Keys> | (Keys & undefined) {
    if (!this.present && this.schema.default === undefined) return undefined as Keys & undefined;
    const keys = Object.keys(this.schema.properties ?? {}) as (keyof NonNullable<Keys> & string)[];
    const settings = keys.flatMap((key) => {
      const field = this.get(key);
      const form = formOf(field.schema, resolved);
      return form === undefined || field.schema['x-setting'] === false ? [] : [[settingName(key, form), field.value()]];
    });
    return Object.fromEntries(settings) as SettingsOf<Keys>;
  }

  /**
   * A value in the form of its schema: text as {@link parsers} read it, a duration in milliseconds, a size in bytes, a
   * list without what has a problem. A required value that is absent or has a problem is empty, see {@link emptyOf};
   * the reported problem keeps the result from being used.
   */
  value(): Keys {
    const form = formOf(this.schema, resolved) ?? 'text';
    return (this.#valueIn(form) ?? (this.#isRequired ? emptyOf(form) : undefined)) as Keys;
  }

  /** This place, if the file has it. */
  given(): Field<NonNullable<Keys>> | undefined {
    return this.present ? (this as Field as Field<NonNullable<Keys>>) : undefined;
  }

  /** The elements of a list; a single string counts as a list of one; otherwise none. */
  items(): readonly Field<ItemOf<Keys>>[] {
    if (typeof this.#value === 'string') return [this.#as(this.#value)];
    if (!Array.isArray(this.#value)) return [];
    return this.#value.map((_, index) => this.#member(index, memberSchema(this.schema, index)));
  }

  /** The members of a mapping; otherwise none. */
  entries(): readonly (readonly [key: string, field: Field<EntryOf<Keys>>])[] {
    if (!isObject(this.#value)) return [];
    return Object.keys(this.#value).map((key) => [key, this.#member(key, memberSchema(this.schema, key))] as const);
  }

  /** Whether it is an empty string, as a placeholder with an empty default may leave it. */
  isEmpty(): boolean {
    return this.#value === '';
  }

  /** A string that is not empty, in any form, and not what an example has in the place of a secret. */
  text(): string | undefined {
    if (typeof this.#value === 'string' && this.#value !== '') {
      if (!isSecret(this.#path) || !isUnchanged(this.#value)) return this.#value;
      this.addProblem('the value is the placeholder of an example, not a secret: write ${env:NAME} or ${file:PATH}');
      return undefined;
    }
    if (this.#value === '') this.addProblem('must not be empty');
    // The schema reports this in better words; this line covers a gap in the schema.
    else if (this.#value !== undefined && this.#value !== unresolved && !this.isFaulty())
      this.addProblem('expected a string');
    return undefined;
  }

  /**
   * A string as `parse` reads it, and in the form of the schema; `parse` throws {@link InvalidValue} for what it does
   * not accept.
   */
  read<T>(parse: (text: string) => T): OrAbsent<Keys, T> {
    if (this.schema['x-claim'] === true && hasPlaceholder(this.#source)) {
      this.addProblem(
        `${this.quoted()} is a placeholder, and the value is the name of a claim: write a name such as sub`,
      );
      return undefined as OrAbsent<Keys, T>;
    }
    const text = this.text();
    try {
      if (text !== undefined) return this.#inForm(text, parse(text));
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      const hint = error.hint === undefined || text !== this.#source ? '' : `; ${error.hint}`;
      const shown = this.quoted() + (isDefault(this.#source, text ?? '') ? ' (its default)' : '');
      this.addProblem(`${shown} ${error.message}${hint}`);
    }
    const { default: fallback } = this.schema;
    // The generated type has undefined unless the schema has a default.
    return (typeof fallback === 'string' ? parse(fallback) : undefined) as OrAbsent<Keys, T>;
  }

  /** Whether it was reported as a problem. */
  isFaulty(): boolean {
    return this.#report.hasProblem(this.#path);
  }

  /** {@link read} of every element. An element that is listed twice is a problem. */
  list<T extends {}>(parse: (text: string) => T): readonly T[] {
    return this.#distinct<T>((item) => item.read<T | undefined>(parse));
  }

  /** A JSON value in the form of the schema; undefined if it is absent or has a problem. */
  json(): unknown {
    return this.#value === unresolved || this.isFaulty() ? undefined : this.#value;
  }

  /** The value as the file has it: with placeholders, but without their defaults. */
  source(): string {
    if (isSecret(this.#path) || typeof this.#source !== 'string') return 'the value';
    return withoutRandom(withoutDefaults(this.#source));
  }

  /** {@link source} in quotes, for a message. */
  quoted(): string {
    return typeof this.#source === 'string' ? quotedAt(this.#path, this.#source) : 'the value';
  }

  /** Reports a problem with this value or its key. */
  addProblem(message: string, part?: 'key' | 'value'): void {
    this.#report.addProblem(this.#path, message, part);
  }

  #valueIn(form: Form): unknown {
    if (form === 'list') return this.#distinct((item) => item.value() ?? undefined);
    if (form === 'boolean') return this.#value === undefined ? undefined : this.#value === true;
    if (form === 'number') return this.#number();
    if (form === 'duration' || form === 'size') return this.#quantity(quantities[form]);
    return this.read((text) => parsers[form](text, this.#report.base));
  }

  #member<Member>(key: string | number, schema: Schema = {}, isRequired = false): Field<Member> {
    const value = ownMember(this.#value, key);
    const present = this.present && value !== undefined;
    const source = ownMember(this.#source, key);
    return new Field(this.#report, [...this.#path, key], schema, { source, value, present, isRequired });
  }

  /** The same place as a list of one. */
  #as<Member>(value: string): Field<Member> {
    const item = memberSchema(this.schema, 0) ?? this.schema;
    const { present } = this;
    return new Field(this.#report, this.#path, item, { source: this.#source, value, present, isRequired: false });
  }

  #distinct<T>(read: (item: Field<ItemOf<Keys>>) => T | undefined): readonly T[] {
    const values = new Set<T>();
    for (const item of this.items()) {
      const value = read(item);
      if (value === undefined) continue;
      if (values.has(value)) item.addProblem('is listed twice');
      values.add(value);
    }
    return [...values];
  }

  /** A number within the bounds of the schema, or a placeholder for one. */
  #number(): number | undefined {
    if (typeof this.#value === 'number') return this.#value;
    const { type, minimum = -Infinity, maximum = Infinity } = numberIn(this.schema);
    const digits = type === 'integer' ? /^[0-9]+$/ : /^[0-9]+(?:\.[0-9]+)?$/;
    const found = this.read<number>((text) => {
      const number = digits.test(text) && !/^0[0-9]/.test(text) ? Number(text) : NaN;
      return number >= minimum && number <= maximum ? number : this.#refuse();
    });
    const { default: fallback } = this.schema;
    return found === undefined && typeof fallback === 'number' ? fallback : found;
  }

  #quantity({ parse, less, more }: (typeof quantities)[keyof typeof quantities]): number | undefined {
    const { 'x-at-least': least = '', 'x-at-most': most = '' } = this.schema;
    return this.read((text) => {
      const found = parse(text) ?? this.#refuse();
      if (found < (parse(least) ?? 1)) reject(`is too ${less}${least === '' ? '' : `: at least ${least}`}`);
      if (found > (parse(most) ?? Infinity)) reject(`is too ${more}: at most ${most}`);
      return found;
    });
  }

  /** `value` if the text has the form that the schema asks for. */
  #inForm<T>(text: string, value: T): T {
    if (acceptsText(this.schema, text)) return value;
    const words = wordsOf(this.schema) ?? [];
    const near = words.length > 2 ? didYouMean(text, words) : undefined;
    const meant = words.find((word) => word.toLowerCase() === text.toLowerCase()) ?? near;
    return meant === undefined ? this.#refuse() : this.#refuse(`did you mean ${meant}?`);
  }

  #refuse(hint?: string): never {
    return reject(textRefusal(this.schema), hint);
  }
}

/** Whether a secret is still what a template has in its place. Each reader of the template knows it. */
function isUnchanged(secret: string): boolean {
  return /^(?:<.*>|change[-_ ]?(?:me|it|this)?|to[-_ ]?do|tbd|fixme|placeholder|your[-_ ].*|x{3,8}|\.{3}|…)$/i.test(
    secret,
  );
}

interface Entry extends Violation {
  /** Whether a problem with the same value replaces it: the words of a parser say more than those of the schema. */
  readonly isReplaceable: boolean;
}

/** Collects the problems of one file. */
export class Report {
  /** The folder at which relative paths start. */
  readonly base: string;
  readonly #file: YamlFile;
  readonly #entries = new Map<string, readonly Entry[]>();

  constructor(file: YamlFile) {
    this.base = dirname(file.file);
    this.#file = file;
  }

  /** Adds a violation of the schema. A problem with the same value from {@link Field.addProblem} replaces it. */
  note(violation: Violation): void {
    const entry = { ...violation, isReplaceable: violation.part === 'value' };
    this.#entries.set(JSON.stringify(violation.path), [...this.#at(violation.path), entry]);
  }

  addProblem(path: Path, message: string, part: 'key' | 'value' = 'value'): void {
    // No key is missing in a value that is no mapping.
    if (message.startsWith('missing key') && this.#at(path).some(({ isReplaceable }) => isReplaceable)) return;
    const others = this.#at(path).filter((entry) => !entry.isReplaceable && entry.message !== message);
    this.#entries.set(JSON.stringify(path), [...others, { path, message, part, isReplaceable: false }]);
  }

  /** Whether a problem at this place was reported. */
  hasProblem(path: Path): boolean {
    return this.#at(path).length > 0;
  }

  /** In the order of the text. */
  problems(): readonly Problem[] {
    const problems = [...this.#entries.values()].flat().map((violation) => problemIn(this.#file, violation));
    return problems.toSorted(inTextOrder);
  }

  /** The root of a document: as it was written, and with placeholders replaced. */
  root<Keys>(source: unknown, expanded: unknown): Field<Keys> {
    return new Field(this, [], gateway, { source, value: expanded, present: true, isRequired: true });
  }

  #at(path: Path): readonly Entry[] {
    return this.#entries.get(JSON.stringify(path)) ?? [];
  }
}
