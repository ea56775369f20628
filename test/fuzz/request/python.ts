import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A request as Python's `http.server` and `json` understand it. */
export interface PythonReading {
  /** The reason of a refusal. All other members are then absent. */
  readonly error?: string;
  readonly method: string;
  readonly target: string;
  /** Without the query, percent-decoded, one character for each octet. */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The number of fields that frame the body. */
  readonly framings: number;
  readonly complete: boolean;
  readonly length: number;
  /** The number of bytes after its end. */
  readonly rest: number;
  readonly message?: PythonMessage;
}

/** A JSON-RPC message as Python reads it. */
export interface PythonMessage {
  readonly error?: string;
  readonly method?: unknown;
  readonly name?: unknown;
  readonly uri?: unknown;
  /** `params.arguments.amount` if it is a number. */
  readonly amount?: number | null;
  /** Parts that other parsers may read differently. */
  readonly odd?: readonly string[];
}

/** A Python process that reads requests. */
export interface Python {
  read(request: Buffer): Promise<PythonReading>;
  close(): Promise<void>;
}

/** Starts Python. It reads while more requests arrive. */
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
      // Sends the requests of one turn of the event loop together.
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
