import { Session, type Profiler } from 'node:inspector';

/** Characters of sources that ran, by the URL of the script; each with the places where they begin. */
export type Places = ReadonlyMap<string, readonly number[]>;

/** What ran since the last look. */
interface Look {
  /** What had never run before. Empty: nothing new. */
  readonly fresh: Places;
  covers(places: Places): boolean;
}

/** Which code of `src/` has run, by V8's own counters: nothing is instrumented, the program itself is fuzzed. */
export interface Coverage {
  look(): Look;
  /** Counts places as known from now on. */
  keep(places: Places): void;
  /** Blocks that ran, of those that V8 tells of in the files that were loaded. */
  blocks(): { readonly reached: number; readonly known: number; readonly files: number };
  stop(): void;
}

interface Script {
  /** One entry a character of the source. */
  readonly ran: Uint8Array;
  /** Where one block ends and another begins. */
  readonly borders: Set<number>;
}

const sources = new URL('../../src/', import.meta.url).href;

/** Starts to count. Must come before `src/` is loaded: of what was compiled already only functions are counted. */
export function startCoverage(): Coverage {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const scripts = new Map<string, Script>();

  function take(): readonly Profiler.ScriptCoverage[] {
    let taken: readonly Profiler.ScriptCoverage[] = [];
    // A session of one's own thread answers before it returns.
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
    const made = { ran: new Uint8Array(length), borders: new Set<number>() };
    scripts.set(url, made);
    return made;
  }

  return {
    look() {
      const ranNow = new Map<string, Uint8Array>();
      const fresh = new Map<string, number[]>();
      for (const coverage of take()) {
        const { ran, borders } = scriptOf(coverage);
        const now = new Uint8Array(ran.length);
        // Outer ranges come before those within them.
        for (const { ranges } of coverage.functions) {
          for (const { startOffset, endOffset, count } of ranges) {
            borders.add(startOffset).add(endOffset);
            now.fill(count > 0 ? 1 : 0, startOffset, endOffset);
          }
        }
        ranNow.set(coverage.url, now);
        const places: number[] = [];
        for (let at = 0; at < now.length; at += 1) if (now[at] === 1 && ran[at] === 0) places.push(at);
        if (places.length > 0) fresh.set(coverage.url, places);
      }
      return {
        fresh,
        covers: (places) => [...places].every(([url, list]) => list.every((at) => ranNow.get(url)?.[at] === 1)),
      };
    },
    keep(places) {
      for (const [url, list] of places) for (const at of list) scripts.get(url)?.ran.fill(1, at, at + 1);
    },
    blocks() {
      let reached = 0;
      let known = 0;
      for (const { ran, borders } of scripts.values()) {
        const within = [...borders].filter((border) => border < ran.length);
        known += within.length;
        reached += within.filter((border) => ran[border] === 1).length;
      }
      return { reached, known, files: scripts.size };
    },
    stop: () => session.disconnect(),
  };
}
