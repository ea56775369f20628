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
  let loaded: Promise<Value> | undefined;
  return () => {
    if (loaded !== undefined) return loaded;
    const loading = load();
    loaded = loading;
    loading.catch(() => {
      loaded = undefined;
    });
    return loading;
  };
}
