import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A request as `http.server` and `json` of Python understand it. */
export interface PythonReading {
  /** Why it is none for Python; then there is nothing else. */
  readonly error?: string;
  readonly method: string;
  readonly target: string;
  /** Without query, percent-decoded, one character an octet. */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** How many fields say how long the body is. */
  readonly framings: number;
  readonly complete: boolean;
  readonly length: number;
  /** Bytes behind its end. */
  readonly rest: number;
  readonly message?: PythonMessage;
}

/** A JSON-RPC message as Python reads it. */
export interface PythonMessage {
  readonly error?: string;
  readonly method?: unknown;
  readonly name?: unknown;
  readonly uri?: unknown;
  /** `params.arguments.amount`, where that is a number. */
  readonly amount?: number | null;
  /** What other readers might read otherwise. */
  readonly odd?: readonly string[];
}

/** A Python process that reads requests. */
export interface Python {
  read(requests: readonly Buffer[]): Promise<readonly PythonReading[]>;
  close(): Promise<void>;
}

/** Starts it. One batch at a time. */
export function startPython(): Python {
  const file = fileURLToPath(new URL('readers.py', import.meta.url));
  const child = spawn('python3', ['-S', file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async read(requests) {
      const size = (length: number): Buffer => {
        const bytes = Buffer.alloc(4);
        bytes.writeUInt32BE(length);
        return bytes;
      };
      child.stdin.write(Buffer.concat(requests.flatMap((request) => [size(request.length), request])));
      const readings: PythonReading[] = [];
      while (readings.length < requests.length) {
        const line = await lines.next();
        if (line.done === true) throw new Error('python3 ended');
        readings.push(JSON.parse(line.value) as PythonReading);
      }
      return readings;
    },
    async close() {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}
