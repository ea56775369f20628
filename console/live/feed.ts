import { useEffect, useState } from 'preact/hooks';
import {
  type Batch,
  type DecisionRow,
  DECISIONS,
  endpoints,
  type Filter,
  selects,
} from '../../src/capabilities/console/messages.ts';
import { read } from '../requests.ts';

/** What Live shows. */
export interface Shown {
  /** The newest first. */
  readonly rows: readonly DecisionRow[];
  /** How many kept decisions the filter selects, and how many are kept in all; undefined while they are loading. */
  readonly past: { readonly selected: number; readonly kept: number } | undefined;
  /** How many decisions a second the listener leaves out, because there are too many to show. */
  readonly leftOutPerSecond: number;
  /** Whether the listener refuses the stream of new decisions. */
  readonly isRefused: boolean;
  /** How many new decisions wait while the view is paused. */
  readonly waiting: number;
}

/** The limit on rows in the memory of the page. */
const MAX_ROWS = 1_000;
/** The page renders at most this often: a busy gateway must not freeze it. */
const RENDER_MS = 250;
const SECOND = 1_000;
/** The pause after a stream that the listener refused. The browser itself tries again only after a broken one. */
const RETRY_MS = 5_000;

/** Follows the decisions that a filter selects, with a past. While it is paused, the rows stay as they are. */
export function useFeed(filter: Filter, isPaused: boolean): Shown {
  const key = JSON.stringify(filter);
  const [shown, setShown] = useState<Shown>(nothing);
  const [feed] = useState(createFeed);
  useEffect(() => feed.follow(filter, setShown), [key]);
  useEffect(() => feed.pause(isPaused), [isPaused]);
  return shown;
}

const nothing: Shown = { rows: [], past: undefined, leftOutPerSecond: 0, isRefused: false, waiting: 0 };

function createFeed() {
  let paused = false;
  let render = (): void => {};

  /** Begins to follow; returns the function that ends it. */
  function follow(filter: Filter, show: (shown: Shown) => void): () => void {
    let rows: readonly DecisionRow[] = [];
    let past: Shown['past'];
    let held: readonly DecisionRow[] = [];
    let waiting = 0;
    let leftOut: { readonly at: number; readonly count: number }[] = [];
    let isRefused = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let stream = open();

    render = () => {
      clearTimeout(timer);
      timer = undefined;
      const since = Date.now() - SECOND;
      leftOut = leftOut.filter(({ at }) => at >= since);
      const leftOutPerSecond = leftOut.reduce((sum, { count }) => sum + count, 0);
      if (!paused) {
        held = rows;
        waiting = 0;
      }
      show({ rows: held, past, leftOutPerSecond, isRefused, waiting });
    };
    const soon = (): void => {
      timer ??= setTimeout(render, RENDER_MS);
    };

    /** Adds rows that are new; returns their number. A decision can be both in the past and in the stream. */
    function add(more: readonly DecisionRow[]): number {
      const known = new Set(rows.map(({ id }) => id));
      const added = more.filter(({ id }) => !known.has(id));
      rows = [...added, ...rows].toSorted((one, other) => other.at - one.at).slice(0, MAX_ROWS);
      return added.length;
    }

    async function loadPast(): Promise<void> {
      try {
        const { rows: kept, ...counts } = await read(endpoints.past, new URLSearchParams(filter));
        add(kept);
        // A paused view stays as it is, but it begins with the past.
        if (past === undefined) held = rows;
        past = counts;
      } catch {
        // The page says that the gateway does not answer, and the next stream loads the past again.
      }
      render();
    }

    function open(): EventSource {
      const opened = new EventSource(DECISIONS);
      // Also after a reconnection: the decisions in between are in the past.
      opened.addEventListener('open', () => {
        isRefused = false;
        void loadPast();
      });
      // So are those that the page read too slowly to get.
      opened.addEventListener('lost', () => void loadPast());
      opened.addEventListener('decisions', ({ data }: MessageEvent<string>) => take(JSON.parse(data) as Batch));
      opened.addEventListener('error', () => {
        if (opened.readyState !== EventSource.CLOSED) return;
        isRefused = true;
        void loadPast();
        retry = setTimeout(() => (stream = open()), RETRY_MS);
      });
      return opened;
    }

    function take(batch: Batch): void {
      const selected = batch.rows.filter((row) => selects(filter, row));
      const added = add(selected);
      waiting += added;
      if (past !== undefined) {
        const all = batch.rows.length + batch.leftOut - (selected.length - added);
        past = { selected: past.selected + added, kept: past.kept + all };
      }
      if (batch.leftOut > 0) {
        leftOut.push({ at: Date.now(), count: batch.leftOut });
        // The notice ends with them, also if no more decisions arrive.
        setTimeout(soon, SECOND);
      }
      soon();
    }

    return () => {
      stream.close();
      clearTimeout(timer);
      clearTimeout(retry);
      render = () => {};
    };
  }

  return {
    follow,
    pause(isPaused: boolean): void {
      paused = isPaused;
      render();
    },
  };
}
