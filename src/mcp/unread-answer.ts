import { parsedJson } from '../core/lib/json/parsed.ts';
import { jsonEscapes } from '../core/lib/wording.ts';

/**
 * The lines of an event up to the brace of its message. A reader that is lenient about lines finds no data in them
 * either.
 */
const linesBefore = /^(?:(?:event|id|retry)?:[ -~]*\r?\n)*data: ?\{/;
/** The members of an answer. Any other key may be one of these to a reader that ignores case. */
const answerKeys: ReadonlySet<string | undefined> = new Set(['"jsonrpc"', '"id"', '"result"']);
/** Of a key, or of an id as it is written. */
const MAX_TOKEN = 8 * 1024;
/** The length of `u` with its four digits. */
const UNICODE_ESCAPE = 5;

/** All of a string but its quotes and escapes. JSON has no control characters in it. */
const plainRun = /[ !#-[\]-\uffff]*/y;
/** An escape behind its backslash, as far as it was read. */
const escapes = /^(?:["\\/bfnrt]|u[\dA-Fa-f]{0,4})$/;
/** What stands in objects and lists between strings. A lenient reader knows strings and comments of other forms. */
const betweenStrings = /[ \t,:0-9+.eEtrufalsn-]*/y;
const space = /[ \t]/;
const ofScalar = /[0-9+.eEtrufalsn-]/;
/** Characters at which some readers end a line: an escape is the same text. */
const otherLineEnds = /[\u0085\u2028\u2029]/g;

/**
 * One event of a stream that is too long to be held, and need not be read if it is the answer to one request. It passes
 * as it comes. The brace that completes its JSON passes only after the event has proved to be that answer, whatever
 * parser reads it: one object on one line, whose only members are `jsonrpc`, `id` and `result`, with that id.
 */
export class UnreadAnswer {
  readonly #id: string | number;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #seen = new Set<string | undefined>();
  /** The number of open objects and lists. */
  #depth = 1;
  #next: 'key' | 'colon' | 'value' | 'comma' = 'key';
  #inString = false;
  /** The escape that is open, without its backslash. */
  #escape: string | undefined;
  /** The key or the id, as far as it was read; undefined in other values. */
  #token: string | undefined;
  #key: string | undefined;
  #isAnswer = false;
  #hasBegun = false;
  #isComplete = false;

  constructor(id: string | number) {
    this.#id = id;
  }

  /** Whether some of it has passed. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Whether its message has ended. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Takes the next bytes. Returns what may pass; undefined where the event is another one, or malformed. */
  pass(bytes: Buffer): Buffer | undefined {
    let text: string;
    try {
      text = this.#decoder.decode(bytes, { stream: true });
    } catch {
      return undefined;
    }
    const start = this.#hasBegun ? 0 : linesBefore.exec(text)?.[0].length;
    if (start === undefined || !this.#reads(text, start)) return undefined;
    this.#hasBegun = true;
    return Buffer.from(text.replace(otherLineEnds, jsonEscapes));
  }

  #reads(text: string, start: number): boolean {
    for (let at = start; at < text.length;) {
      let next: number | undefined;
      if (this.#isComplete) next = text[at] === '\n' || text[at] === '\r' ? at + 1 : undefined;
      else if (this.#inString) next = this.#inText(text, at);
      else if (this.#depth > 1) next = this.#below(text, at);
      else next = this.#atTop(text, at);
      if (next === undefined || (this.#token !== undefined && this.#token.length > MAX_TOKEN)) return false;
      at = next;
    }
    return true;
  }

  #inText(text: string, at: number): number | undefined {
    let end = at + 1;
    if (this.#escape !== undefined) {
      const escape = `${this.#escape}${text[at]}`;
      if (!escapes.test(escape)) return undefined;
      this.#escape = escape.startsWith('u') && escape.length < UNICODE_ESCAPE ? escape : undefined;
    } else {
      plainRun.lastIndex = at;
      plainRun.test(text);
      const character = text[plainRun.lastIndex];
      end = plainRun.lastIndex + 1;
      if (character === '\\') this.#escape = '';
      else if (character === '"') this.#inString = false;
      else if (character !== undefined) return undefined;
    }
    if (this.#token !== undefined) this.#token += text.slice(at, end);
    return this.#inString || this.#depth > 1 || this.#endsToken() ? end : undefined;
  }

  /** Within the values of members. */
  #below(text: string, at: number): number | undefined {
    betweenStrings.lastIndex = at;
    betweenStrings.test(text);
    const end = betweenStrings.lastIndex;
    const character = text[end];
    if (character === undefined) return end;
    if (character === '"') this.#inString = true;
    else if (character === '{' || character === '[') this.#depth += 1;
    else if (character === '}' || character === ']') this.#depth -= 1;
    else return undefined;
    return end + 1;
  }

  /** Between the members of the message. */
  #atTop(text: string, at: number): number | undefined {
    const character = text[at] as string;
    if (this.#token !== undefined) {
      if (ofScalar.test(character)) {
        this.#token += character;
        return at + 1;
      }
      // A number ends with what follows it.
      if (this.#token !== '' && !this.#endsToken()) return undefined;
    }
    if (space.test(character)) return at + 1;
    const isTaken = character === '"' ? this.#beginsString() : this.#takes(character);
    return isTaken ? at + 1 : undefined;
  }

  #beginsString(): boolean {
    if (this.#next !== 'key' && (this.#next !== 'value' || this.#key === '"result"')) return false;
    this.#inString = true;
    if (this.#next === 'key' || this.#token !== undefined) this.#token = '"';
    return true;
  }

  #takes(character: string): boolean {
    switch (character) {
      case ':':
        if (this.#next !== 'colon') return false;
        this.#next = 'value';
        if (this.#key === '"id"') this.#token = '';
        return true;
      case '{':
        // MCP: a result is an object.
        if (this.#next !== 'value' || this.#key !== '"result"') return false;
        this.#depth = 2;
        this.#next = 'comma';
        return true;
      case ',':
        if (this.#next !== 'comma') return false;
        this.#next = 'key';
        return true;
      case '}':
        this.#isComplete = this.#next === 'comma' && this.#isAnswer && this.#seen.has('"result"');
        return this.#isComplete;
    }
    return false;
  }

  /** Whether the key or value that has ended may stand there. */
  #endsToken(): boolean {
    const token = this.#token;
    this.#token = undefined;
    if (this.#next === 'value') {
      this.#next = 'comma';
      if (token === undefined) return true;
      this.#isAnswer = parsedJson(token) === this.#id;
      return this.#isAnswer;
    }
    this.#next = 'colon';
    this.#key = token;
    const before = this.#seen.size;
    return answerKeys.has(token) && this.#seen.add(token).size > before;
  }
}
