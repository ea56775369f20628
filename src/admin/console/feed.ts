import type { ServerResponse } from 'node:http';
import type { Batch } from './messages.ts';

/** The stream of new decisions to the pages that watch, as server-sent events. */
export interface Feed {
  /**
   * Begins to send.
   *
   * @param isAllowed Asked again while the stream is open: a session ends, and a token may be replaced.
   */
  open(response: ServerResponse, isAllowed: () => boolean): void;
  /** How many pages watch. */
  readonly watchers: number;
}

/** The limit on pages that watch at the same time. */
export const MAX_WATCHERS = 50;
/** The limit on bytes that wait for a slow page. Decisions beyond it are lost to the page, which gets their number. */
const MAX_WAITING = 512 * 1024;
/** How often the access of a page is checked. A page that read nothing for so long is closed. */
const CHECK_MS = 10_000;

interface Watcher {
  readonly response: ServerResponse;
  readonly isAllowed: () => boolean;
  /** How many decisions were lost to it since the last event. */
  lost: number;
  /** Whether it had too much waiting at the last check. */
  isStuck: boolean;
}

/** Creates the feed. @param watch Called while at least one page watches. */
export function createFeed(watch: (onBatch: (batch: Batch) => void) => () => void): Feed {
  const watchers = new Set<Watcher>();
  let stop: (() => void) | undefined;

  function begin(): void {
    const stopWatching = watch(send);
    const timer = setInterval(check, CHECK_MS);
    stop = () => {
      stopWatching();
      clearInterval(timer);
    };
  }

  function send(batch: Batch): void {
    const count = batch.rows.length + batch.leftOut;
    const text = event('decisions', batch);
    for (const watcher of watchers) {
      if (watcher.response.writableLength > MAX_WAITING) watcher.lost += count;
      else watcher.response.write(watcher.lost === 0 ? text : event('lost', takeLost(watcher)) + text);
    }
  }

  function takeLost(watcher: Watcher): number {
    const { lost } = watcher;
    watcher.lost = 0;
    return lost;
  }

  function check(): void {
    for (const watcher of watchers) {
      const { response } = watcher;
      const isBehind = response.writableLength > MAX_WAITING;
      if (!watcher.isAllowed() || (isBehind && watcher.isStuck)) response.destroy();
      else if (!isBehind) response.write(':\n\n');
      watcher.isStuck = isBehind;
    }
  }

  return {
    get watchers() {
      return watchers.size;
    },
    open(response, isAllowed) {
      const watcher: Watcher = { response, isAllowed, lost: 0, isStuck: false };
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
      response.write('retry: 1000\n\n');
      watchers.add(watcher);
      if (watchers.size === 1) begin();
      response.once('close', () => {
        watchers.delete(watcher);
        if (watchers.size === 0) stop?.();
      });
    },
  };
}

function event(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`;
}
