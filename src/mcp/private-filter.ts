import type { BodyFilter } from './body-filter.ts';

/** The longest spelling of a string that counts, every character of it escaped: others are sent as they come. */
const LONGEST = '"cachescope"'.length * '\\u0000'.length;

/**
 * Creates the filter that makes a `public` result `private`, so that no cache serves it to other users. It compares the
 * strings that a parser would read, and holds back at most one of them, so that results of any length and the events of
 * a stream pass at once.
 */
export function createPrivateFilter(isEventStream: boolean): BodyFilter {
  const json = createJsonScan();
  const lines = isEventStream ? createLineScan(json) : json;
  const bytes = (text: string): readonly Buffer[] => (text === '' ? [] : [Buffer.from(text, 'latin1')]);
  return {
    push: (chunk) => bytes(lines.push(chunk.toString('latin1'))),
    end: () => bytes(lines.end()),
  };
}

/** Takes text in pieces, and returns what can be sent. */
interface Scan {
  push(text: string): string;
  /** Returns what is held. */
  end(): string;
}

/** JSON text, of which only the strings matter: no character of theirs stands anywhere else. */
function createJsonScan(): Scan {
  let held = '';
  /** Within a string that is too long to count: whether its next character is escaped. */
  let long: { isEscaped: boolean } | undefined;
  let isValueNext = false;

  return {
    push(piece) {
      const text = held + piece;
      held = '';
      let at = 0;
      let sent = '';
      while (at < text.length) {
        if (long !== undefined) {
          const end = endOfString(text, at, long.isEscaped);
          if (end === undefined) long = { isEscaped: endsEscaping(text, at, long.isEscaped) };
          else long = undefined;
          sent += text.slice(at, end);
          at = end ?? text.length;
          continue;
        }
        const start = text.indexOf('"', at);
        const between = text.slice(at, start === -1 ? text.length : start);
        if (isValueNext) isValueNext = /^[\s:]*$/.test(between);
        sent += between;
        if (start === -1) break;
        const end = endOfString(text, start + 1, false);
        if (end === undefined && text.length - start <= LONGEST) {
          held = text.slice(start);
          break;
        }
        if (end === undefined) {
          long = { isEscaped: false };
          sent += '"';
          at = start + 1;
          isValueNext = false;
          continue;
        }
        const said = end - start > LONGEST ? undefined : saidIn(text.slice(start, end));
        sent += isValueNext && said === 'public' ? '"private"' : text.slice(start, end);
        isValueNext = said === 'cachescope';
        at = end;
      }
      return sent;
    },
    end() {
      const rest = held;
      held = '';
      long = undefined;
      return rest;
    },
  };
}

/** The data of an event stream, WHATWG HTML §9.2.6. Its other lines pass as they are: they may hold quotes. */
function createLineScan(json: Scan): Scan {
  /** The beginning of a line whose field is not known yet. */
  let begun = '';
  let kind: 'unknown' | 'data' | 'other' = 'unknown';

  function push(piece: string): string {
    if (kind === 'other') return piece;
    if (kind === 'data') return json.push(piece);
    begun += piece;
    if (dataFields.some((field) => field.length > begun.length && field.startsWith(begun))) return '';
    const line = begun;
    begun = '';
    const { length = 0 } = dataFields.find((field) => line.startsWith(field)) ?? {};
    kind = length > 0 ? 'data' : 'other';
    return length > 0 ? line.slice(0, length) + json.push(line.slice(length)) : line;
  }

  function end(): string {
    const rest = begun + (kind === 'data' ? json.end() : '');
    begun = '';
    kind = 'unknown';
    return rest;
  }

  return {
    push: (text) =>
      text.replace(/[^\r\n]+|[\r\n]/g, (part) => (part === '\r' || part === '\n' ? end() + part : push(part))),
    end,
  };
}

/** With the three bytes of a BOM, which a stream may begin with. */
const dataFields = ['data:', '\u00ef\u00bb\u00bfdata:'];

/** Where a string ends, after its quote; undefined if it goes on. @param at Within the string. */
function endOfString(text: string, at: number, isEscaped: boolean): number | undefined {
  for (let quote = text.indexOf('"', isEscaped ? at + 1 : at); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    if (!endsEscaping(text.slice(0, quote), at, isEscaped)) return quote + 1;
  }
  return undefined;
}

/** Whether text of a string that begins at `from` ends with a backslash that escapes what follows. */
function endsEscaping(text: string, from: number, isEscaped: boolean): boolean {
  let at = text.length;
  while (at > from && text[at - 1] === '\\') at -= 1;
  return ((text.length - at) % 2 === 1) !== (isEscaped && at === from);
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
