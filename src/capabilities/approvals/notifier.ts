import { createHmac, randomUUID } from 'node:crypto';
import { type BackOff, createBackOff } from '../../core/lib/back-off.ts';
import type { ApprovalEvent, KeptApproval } from './book.ts';
import type { ApprovalSettings } from '../../ports/approval-settings.ts';
import { shownView } from './api.ts';
import { openRequest } from '../../ports/own-requests.ts';
import { messageOf } from '../../core/lib/wording.ts';

const MAX_WAITING = 1_000;
/** Of the events that wait or are sent: one request is up to 64 KiB long. */
const MAX_BYTES = 16 * 1024 * 1024;
const TRIES = 5;
const TIMEOUT_MS = 5_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;
const MAX_PARALLEL = 4;
const MAX_INTERIM = 8;

interface Message {
  readonly event: ApprovalEvent;
  readonly body: string;
  readonly bytes: number;
  readonly backOff: BackOff;
  tries: number;
}

/** Sends events to `approvals.notify`, never in the way of a request. */
export class Notifier {
  readonly #settings: ApprovalSettings;
  readonly #onLost: (event: ApprovalEvent, why: string) => void;
  readonly #firstRetryMs: number;
  readonly #waiting: Message[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #underWay = 0;
  #bytes = 0;
  #delayed = 0;
  #isClosed = false;

  /** @param onLost Called for an event that is given up. */
  constructor(
    settings: ApprovalSettings,
    onLost: (event: ApprovalEvent, why: string) => void,
    firstRetryMs = FIRST_RETRY_MS,
  ) {
    this.#settings = settings;
    this.#onLost = onLost;
    this.#firstRetryMs = firstRetryMs;
  }

  send(event: ApprovalEvent, approval: KeptApproval): void {
    if (this.#settings.notify === undefined || this.#isClosed) return;
    if (this.#waiting.length + this.#delayed >= MAX_WAITING) {
      this.#onLost(event, `${MAX_WAITING} events wait`);
      return;
    }
    const body = JSON.stringify({
      event_id: randomUUID(),
      event,
      at: new Date().toISOString(),
      url: `${this.#settings.url}/${approval.id}`,
      approval: shownView(approval),
    });
    const bytes = Buffer.byteLength(body);
    if (this.#bytes + bytes > MAX_BYTES) {
      this.#onLost(event, `events of ${MAX_BYTES} bytes wait`);
      return;
    }
    this.#bytes += bytes;
    const backOff = createBackOff(this.#firstRetryMs, LONGEST_RETRY_MS, Math.random);
    this.#waiting.push({ event, body, bytes, backOff, tries: 0 });
    this.#next();
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #next(): void {
    while (this.#underWay < MAX_PARALLEL) {
      const message = this.#waiting.shift();
      if (message === undefined) return;
      this.#underWay += 1;
      void this.#try(message).finally(() => {
        this.#underWay -= 1;
        this.#next();
      });
    }
  }

  async #try(message: Message): Promise<void> {
    const why = await this.#post(message.body);
    message.tries += 1;
    if (why === undefined || this.#isClosed || message.tries >= TRIES) {
      this.#bytes -= message.bytes;
      if (why !== undefined && !this.#isClosed) this.#onLost(message.event, why);
      return;
    }
    this.#delayed += 1;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#delayed -= 1;
      this.#waiting.push(message);
      this.#next();
    }, message.backOff.next()).unref();
    this.#timers.add(timer);
  }

  /** @returns why it failed. Of an answer only the status is read; then the connection ends. */
  async #post(body: string): Promise<string | undefined> {
    const { url = '', secret = '' } = this.#settings.notify ?? {};
    const seconds = Math.floor(Date.now() / 1000);
    const mac = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const request = openRequest(new URL(url), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'sallyport-signature': `t=${seconds},v1=${mac}`,
      },
      agent: false,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    let interim = 0;
    request.on('information', () => {
      interim += 1;
      if (interim > MAX_INTERIM) request.destroy(new Error(`it sent more than ${MAX_INTERIM} interim responses`));
    });
    request.on('response', ({ statusCode = 0 }) => {
      resolve(statusCode >= 200 && statusCode < 300 ? undefined : `it answered ${statusCode}`);
      request.destroy();
    });
    request.on('error', (error) => resolve(messageOf(error)));
    request.end(body);
    return promise;
  }
}
