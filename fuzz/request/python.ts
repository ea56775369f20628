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
  read(request: Buffer): Promise<PythonReading>;
  close(): Promise<void>;
}

/** Starts it. It reads while requests still come. */
export function startPython(): Python {
  const file = fileURLToPath(new URL('readers.py', import.meta.url));
  const child = spawn('python3', ['-S', file], { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting: { readonly resolve: (reading: PythonReading) => void; readonly reject: (error: Error) => void }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) =>
    waiting.shift()?.resolve(JSON.parse(line) as PythonReading),
  );
  child.on('exit', () => waiting.splice(0).forEach(({ reject }) => reject(new Error('python3 ended'))));
  return {
    read(request) {
      const size = Buffer.alloc(4);
      size.writeUInt32BE(request.length);
      // What comes in one turn of the event loop goes on at once.
      if (child.stdin.writableCorked === 0) {
        child.stdin.cork();
        setImmediate(() => child.stdin.uncork());
      }
      child.stdin.write(Buffer.concat([size, request]));
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    async close() {
      const ended = once(child, 'exit');
      child.stdin.end();
      await ended;
    },
  };
}
