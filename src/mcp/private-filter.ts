import type { BodyFilter } from '../core/gateway/forward/answer-messages.ts';

/** The longest spelling of a string that counts, every character of it escaped: longer ones are sent as they come. */
const LONGEST = '""'.length + 'cachescope'.length * '\\u0000'.length;

/**
 * Creates the filter that makes a `public` result `private`, so that no cache serves it to other users. It compares the
 * strings that a parser would read, and holds back at most one of them, so that results of any length and the events of
 * a stream pass at once.
 */
export function createPrivateFilter(isEventStream: boolean): BodyFilter {
  const scan = isEventStream ? new LineScan() : new JsonScan();
  const bytes = (text: string): readonly Buffer[] => (text === '' ? [] : [Buffer.from(text, 'latin1')]);
  return {
    push: (chunk) => bytes(scan.push(chunk.toString('latin1'))),
    end: () => bytes(scan.end()),
  };
}

/** JSON text, of which only the strings matter: no character of theirs stands anywhere else. */
class JsonScan {
  /** The beginning of a string, or a backslash in one that is too long to count. */
  #held = '';
  #isInLong = false;
  #isValueNext = false;

  /** Takes text in pieces, and returns what can be sent. */
  push(piece: string): string {
    const text = inOnePiece(this.#held + piece);
    this.#held = '';
    let sent = '';
    let at = 0;
    while (at < text.length) {
      if (!this.#isInLong && text[at] !== '"') {
        const quote = text.indexOf('"', at);
        const between = text.slice(at, quote === -1 ? text.length : quote);
        if (this.#isValueNext) this.#isValueNext = /^[\s:]*$/.test(between);
        sent += between;
        at += between.length;
        continue;
      }
      const end = endOfCharacters(text, this.#isInLong ? at : at + 1);
      if (text[end] !== '"') {
        const mayCount = !this.#isInLong && text.length - at < LONGEST;
        this.#held = text.slice(mayCount ? at : end);
        if (mayCount) return sent;
        this.#isInLong = true;
        return sent + text.slice(at, end);
      }
      const literal = text.slice(at, end + 1);
      const said = this.#isInLong || literal.length > LONGEST ? undefined : saidIn(literal);
      sent += this.#isValueNext && said === 'public' ? '"private"' : literal;
      this.#isValueNext = said === 'cachescope';
      this.#isInLong = false;
      at = end + 1;
    }
    return sent;
  }

  /** Returns what is held. No string goes on in another line of data. */
  end(): string {
    const rest = this.#held;
    this.#held = '';
    this.#isInLong = false;
    return rest;
  }
}

/** The data of an event stream, WHATWG HTML §9.2.6. Its other lines pass as they are: they may hold quotes. */
class LineScan {
  readonly #json = new JsonScan();
  /** The beginning of a line whose field is not known yet. */
  #begun = '';
  /** Undefined at the beginning of a line. */
  #isData: boolean | undefined;

  push(text: string): string {
    const parts = text.split(/([\r\n])/);
    return parts.map((part, index) => (index % 2 === 1 ? this.end() + part : this.#within(part))).join('');
  }

  end(): string {
    const rest = this.#begun + this.#json.end();
    this.#begun = '';
    this.#isData = undefined;
    return rest;
  }

  #within(part: string): string {
    if (this.#isData !== undefined) return this.#isData ? this.#json.push(part) : part;
    const line = this.#begun + part;
    this.#begun = '';
    if (dataFields.some((each) => each.startsWith(line))) {
      this.#begun = line;
      return '';
    }
    const field = dataFields.find((each) => line.startsWith(each));
    this.#isData = field !== undefined;
    return field === undefined ? line : field + this.#json.push(line.slice(field.length));
  }
}

/** With the three bytes of a BOM, which a stream may begin with. */
const dataFields = ['data:', '\u00ef\u00bb\u00bfdata:'];

/** The same text. V8 would copy all of a joined one for each string in it, which takes seconds for a long list. */
function inOnePiece(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}

/** Where the characters of a string end: at its quote, at half of an escape, or at the end of the text. */
function endOfCharacters(text: string, start: number): number {
  let at = start;
  // No pattern: with millions of escapes in one piece it would need more stack than there is.
  while (text[at] !== undefined && text[at] !== '"') {
    if (text[at] !== '\\') at += 1;
    else if (at + 1 < text.length) at += 2;
    else return at;
  }
  return at;
}

/** The string that a literal stands for, in lower case: some parsers take keys in any case. */
function saidIn(literal: string): string | undefined {
  if (!literal.includes('\\')) return literal.slice(1, -1).toLowerCase();
  try {
    return String(JSON.parse(literal)).toLowerCase();
  } catch {
    return undefined;
  }
}
