import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AdminRefusal } from '../admin.ts';
import type { DraftTask } from './draft.ts';
import type { DraftAnswer } from './messages.ts';

/** The bounds of a draft: its time, and the memory of the process that tries it. */
export interface DraftBounds {
  readonly timeMs: number;
  readonly memoryMb: number;
}
const defaults: DraftBounds = { timeMs: 10_000, memoryMb: 128 };
const MAX_WAITING = 8;
const IDLE_MS = 60_000;

/** How long the process may take to load its modules: on a busy machine, seconds. */
const START_MS = 60_000;

/** A message of the process: the result of a draft, or, with no member, that it has loaded. */
export interface DraftMessage {
  readonly answer?: DraftAnswer;
  readonly fault?: string;
}

/** `.ts` in a checkout, `.js` in the package and the image. */
const program = fileURLToPath(new URL(`./draft-worker${extname(import.meta.url)}`, import.meta.url));

/**
 * A process beside the gateway that tries one draft at a time. It is not a thread: if a thread runs out of memory or
 * stack, V8 may abort the whole process. It starts with the first draft, and again after one that ended it.
 */
export class DraftProcess {
  readonly #bounds: DraftBounds;
  #child: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(bounds: DraftBounds = defaults) {
    this.#bounds = bounds;
  }

  /** The process id while the process runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * @param isWanted Asked before it begins: a page that has a newer draft no longer waits for this one.
   * @throws {AdminRefusal} if the draft takes too much time or memory or ends the process, or if too many wait.
   */
  run(task: DraftTask, isWanted: () => boolean = () => true): Promise<DraftAnswer> {
    if (this.#waiting >= MAX_WAITING) {
      return Promise.reject(new AdminRefusal(503, 'Too many drafts are being tried.\n'));
    }
    this.#waiting += 1;
    const turn = this.#last
      .then(() => {
        if (!isWanted()) throw new AdminRefusal(503, 'The page no longer waits for this draft.\n');
        return this.#runNow(task);
      })
      .finally(() => (this.#waiting -= 1));
    this.#last = turn.catch(() => {});
    return turn;
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  async #runNow(task: DraftTask): Promise<DraftAnswer> {
    clearTimeout(this.#idle);
    const child = this.#child ?? (await this.#start());
    // A message to a process that has just ended fails (EPIPE); `exit` reports its end.
    child.send(task, () => {});
    const { answer, fault } = await this.#nextMessage(child, this.#bounds.timeMs);
    if (answer === undefined) throw this.#givenUp(`The draft cannot be tried: ${fault}`);
    this.#idle = setTimeout(() => this.close(), IDLE_MS).unref();
    return answer;
  }

  async #start(): Promise<ChildProcess> {
    const child = fork(program, {
      // No environment: its variables may hold secrets.
      env: {},
      execArgv: [`--max-old-space-size=${this.#bounds.memoryMb}`, '--permission', '--allow-fs-read=*'],
      serialization: 'advanced',
      // What V8 prints as it aborts has parts of the draft.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#child = child;
    child.unref();
    child.channel?.unref();
    const forget = (): void => {
      if (this.#child === child) this.#child = undefined;
    };
    // Without a listener, a failure to start or to send would end the gateway.
    child.on('error', forget).on('exit', forget);
    await this.#nextMessage(child, START_MS);
    return child;
  }

  /** Waits for a message. A process that sends none in time is ended. */
  #nextMessage(child: ChildProcess, limitMs: number): Promise<DraftMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<DraftMessage>();
    const refuse = (why: string): void => reject(this.#givenUp(why));
    const onError = ({ message }: Error): void => refuse(`The process that tries drafts failed: ${message}`);
    const onExit = (code: number | null, signal: string | null): void =>
      refuse(
        `The draft ended the process that tried it (${signal ?? code}): it needs more than ` +
          `${this.#bounds.memoryMb} MB of memory, or more stack than there is.`,
      );
    const timer = setTimeout(() => refuse(`The draft takes longer than ${limitMs / 1000} s.`), limitMs);
    child.once('message', resolve).once('error', onError).once('exit', onExit);
    return promise.finally(() => {
      clearTimeout(timer);
      child.off('message', resolve).off('error', onError).off('exit', onExit);
    });
  }

  #givenUp(why: string): AdminRefusal {
    this.close();
    return new AdminRefusal(422, `${why}\n`);
  }
}
