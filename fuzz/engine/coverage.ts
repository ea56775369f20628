import { Session, type Profiler } from 'node:inspector';

/** Positions of characters that ran, by the URL of the script. */
export type Places = ReadonlyMap<string, readonly number[]>;

/** The coverage since the last look. */
interface Look {
  /** Positions that ran for the first time. */
  readonly fresh: Places;
  covers(places: Places): boolean;
}

/** The coverage of `src/` by V8's own counters, so that the program runs unchanged. */
export interface Coverage {
  look(): Look;
  /** The places among these that no known case has reached. */
  unknown(places: Places): Places;
  /** Marks places as known. */
  keep(places: Places): void;
  /** The number of blocks that ran, and of all blocks in the loaded files. */
  blocks(): { readonly reached: number; readonly known: number; readonly files: number };
  stop(): void;
}

interface Script {
  /** The length of the source in characters. */
  readonly length: number;
  /** One entry for each character, 1 if it ran. Its length is a multiple of 4 bytes. */
  readonly ran: Uint8Array<ArrayBuffer>;
  /** 1 at the borders of blocks. */
  readonly borders: Uint8Array;
}

const sources = new URL('../../src/', import.meta.url).href;

/** Starts counting. Call it before `src/` is loaded: in code that is already compiled, V8 counts functions only. */
export function startCoverage(): Coverage {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const scripts = new Map<string, Script>();

  function take(): readonly Profiler.ScriptCoverage[] {
    let taken: readonly Profiler.ScriptCoverage[] = [];
    // A session of the same thread answers before `post` returns.
    session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error !== null) throw error;
      taken = result;
    });
    return taken.filter(({ url }) => url.startsWith(sources));
  }

  function scriptOf({ url, functions }: Profiler.ScriptCoverage): Script {
    const known = scripts.get(url);
    if (known !== undefined) return known;
    const length = Math.max(0, ...functions.flatMap(({ ranges }) => ranges.map(({ endOffset }) => endOffset)));
    const made = { length, ran: wholeWords(length), borders: new Uint8Array(length + 1) };
    scripts.set(url, made);
    return made;
  }

  return {
    look() {
      const ranNow = new Map<string, Uint8Array>();
      const fresh = new Map<string, number[]>();
      for (const coverage of take()) {
        const { length, ran, borders } = scriptOf(coverage);
        const now = wholeWords(length);
        // Outer ranges come before inner ones.
        for (const { ranges } of coverage.functions) {
          for (const { startOffset, endOffset, count } of ranges) {
            borders[startOffset] = 1;
            borders[endOffset] = 1;
            now.fill(count > 0 ? 1 : 0, startOffset, endOffset);
          }
        }
        ranNow.set(coverage.url, now);
        const places = placesIn(now, ran);
        if (places.length > 0) fresh.set(coverage.url, places);
      }
      return {
        fresh,
        covers: (places) => [...places].every(([url, list]) => list.every((at) => ranNow.get(url)?.[at] === 1)),
      };
    },
    unknown(places) {
      const left = [...places].map(
        ([url, list]) => [url, list.filter((at) => scripts.get(url)?.ran[at] !== 1)] as const,
      );
      return new Map(left.filter(([, list]) => list.length > 0));
    },
    keep(places) {
      for (const [url, list] of places) {
        const ran = scripts.get(url)?.ran;
        if (ran !== undefined) for (const at of list) ran[at] = 1;
      }
    },
    blocks() {
      let reached = 0;
      let known = 0;
      for (const { length, ran, borders } of scripts.values()) {
        for (let at = 0; at < length; at += 1) {
          known += borders[at] as number;
          reached += (borders[at] as number) & (ran[at] as number);
        }
      }
      return { reached, known, files: scripts.size };
    },
    stop: () => session.disconnect(),
  };
}

function wholeWords(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Math.ceil(length / 4) * 4);
}

/** The positions that are 1 in `now` and 0 in `before`. Compares four at a time: each batch checks all sources. */
function placesIn(now: Uint8Array<ArrayBuffer>, before: Uint8Array<ArrayBuffer>): number[] {
  const places: number[] = [];
  const [wordsNow, wordsBefore] = [new Uint32Array(now.buffer), new Uint32Array(before.buffer)];
  for (let word = 0; word < wordsNow.length; word += 1) {
    if (((wordsNow[word] as number) & ~(wordsBefore[word] as number)) === 0) continue;
    for (let at = word * 4; at < word * 4 + 4; at += 1) if (now[at] === 1 && before[at] === 0) places.push(at);
  }
  return places;
}
