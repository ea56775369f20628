import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { DraftTask } from './draft.ts';
import type { DraftAnswer } from './messages.ts';

/** A draft that was given up; the message is what the operator reads. */
export class DraftRefusal extends Error {
  override readonly name = 'DraftRefusal';
  readonly status: 422 | 503;

  constructor(status: 422 | 503, message: string) {
    super(message);
    this.status = status;
  }
}

/** A thread beside the one that serves, which tries one draft at a time. */
export interface DraftThread {
  /**
   * @param isWanted Asked before it begins: a page that has a newer draft no longer waits for this one.
   * @throws {DraftRefusal} if the draft takes too much time or memory, or too many wait.
   */
  run(task: DraftTask, isWanted?: () => boolean): Promise<DraftAnswer>;
  readonly close: () => void;
}

/** The bounds of a draft: its time, its memory, and how many may wait. */
export interface DraftBounds {
  readonly timeMs: number;
  readonly memoryMb: number;
}
const bounds: DraftBounds = { timeMs: 10_000, memoryMb: 128 };
const MAX_WAITING = 8;
/** An idle thread ends after this time. */
const IDLE_MS = 60_000;

/** How long the thread may take to load its modules: on a busy machine, seconds. */
const START_MS = 60_000;

/** What the thread says: that it has loaded, or what came of a draft. */
export interface DraftMessage {
  readonly isReady?: true;
  readonly answer?: DraftAnswer;
  readonly fault?: string;
}

/** `.ts` in a checkout, `.js` in the package and the image. */
const program = new URL(`./draft-worker${extname(import.meta.url)}`, import.meta.url);

/** Creates the thread. It starts with the first draft, and again after one that was given up. */
export function createDraftThread({ timeMs, memoryMb }: DraftBounds = bounds): DraftThread {
  let worker: Promise<Worker> | undefined;
  let idle: NodeJS.Timeout | undefined;
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  function start(): Promise<Worker> {
    // No environment: its variables may hold secrets.
    const created = new Worker(program, { env: {}, resourceLimits: { maxOldGenerationSizeMb: memoryMb } });
    created.unref();
    // Without a listener, an error between two drafts would end the process.
    created.on('error', end);
    return answerOf(created, START_MS, (_message, done) => done(created));
  }

  function end(): void {
    clearTimeout(idle);
    void worker?.then((ended) => ended.terminate(), noop);
    worker = undefined;
  }

  /** Waits for a message of the thread. A thread that sends none in time, or fails, is ended. */
  function answerOf<Value>(
    thread: Worker,
    limitMs: number,
    read: (message: DraftMessage, done: (value: Value) => void, refuse: (why: string) => void) => void,
  ): Promise<Value> {
    const { promise, resolve, reject } = Promise.withResolvers<Value>();
    const refuse = (why: string): void => {
      void thread.terminate();
      end();
      reject(new DraftRefusal(422, `${why}\n`));
    };
    const onMessage = (message: DraftMessage): void => read(message, resolve, refuse);
    const onError = ({ message, code }: Error & { readonly code?: string }): void =>
      refuse(code === 'ERR_WORKER_OUT_OF_MEMORY' ? `The draft needs more than ${memoryMb} MB.` : message);
    const timer = setTimeout(() => refuse(`The draft takes longer than ${limitMs / 1000} s.`), limitMs);
    thread.on('message', onMessage).on('error', onError);
    return promise.finally(() => {
      clearTimeout(timer);
      thread.off('message', onMessage).off('error', onError);
    });
  }

  async function runNow(task: DraftTask): Promise<DraftAnswer> {
    clearTimeout(idle);
    worker ??= start();
    const thread = await worker;
    const answered = answerOf<DraftAnswer>(thread, timeMs, ({ answer, fault }, done, refuse) => {
      if (answer === undefined) refuse(`The draft cannot be tried: ${fault}`);
      else done(answer);
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- between threads there is none
    thread.postMessage(task);
    return answered.finally(() => (idle = setTimeout(end, IDLE_MS).unref()));
  }

  return {
    run(task, isWanted = () => true) {
      if (waiting >= MAX_WAITING) return Promise.reject(new DraftRefusal(503, 'Too many drafts are being tried.\n'));
      waiting += 1;
      const turn = last
        .then(() => {
          if (!isWanted()) throw new DraftRefusal(503, 'The page no longer waits for this draft.\n');
          return runNow(task);
        })
        .finally(() => (waiting -= 1));
      last = turn.catch(() => {});
      return turn;
    },
    close: end,
  };
}

function noop(): void {}
