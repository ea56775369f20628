import type { Clock } from './clock.ts';

/** Runs `work` for a key unless it runs already. All callers that come meanwhile share one outcome, failures too. */
export type SingleFlight<Value> = (key: string, work: () => Promise<Value>) => Promise<Value>;

/** Creates an empty {@link SingleFlight}. */
export function createSingleFlight<Value>(): SingleFlight<Value> {
  const underWay = new Map<string, Promise<Value>>();
  return (key, work) => {
    const running = underWay.get(key);
    if (running !== undefined) return running;
    const started = work().finally(() => underWay.delete(key));
    underWay.set(key, started);
    return started;
  };
}

/** Runs `load` at the first call, and returns its result from then on. After a failure the next call tries again. */
export function loadOnce<Value>(load: () => Promise<Value>): () => Promise<Value> {
  return loadAgain(Infinity, load, () => 0);
}

const HOUR_MS = 3_600_000;

/** {@link loadOnce}, whose result counts for an hour: metadata of a server. */
export function loadHourly<Value>(load: () => Promise<Value>, clock: Clock): () => Promise<Value> {
  return loadAgain(HOUR_MS, load, clock);
}

function loadAgain<Value>(everyMs: number, load: () => Promise<Value>, clock: Clock): () => Promise<Value> {
  let loaded: { readonly value: Promise<Value>; readonly at: number } | undefined;
  return () => {
    const age = loaded === undefined ? Infinity : clock() - loaded.at;
    // The clock may have been set back.
    if (loaded !== undefined && age >= 0 && age < everyMs) return loaded.value;
    const loading = { value: load(), at: clock() };
    loaded = loading;
    loading.value.catch(() => {
      if (loaded === loading) loaded = undefined;
    });
    return loading.value;
  };
}
