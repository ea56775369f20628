import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** What is sent, again and again. */
export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What came of a load. */
export interface Completed {
  readonly requests: number;
  /** Answers that were no success, and connections that broke. */
  readonly failed: number;
  readonly seconds: number;
}

const CONNECTIONS = 64;

/** Sends as fast as it is answered, over {@link CONNECTIONS} that are kept. */
export async function saturate(url: string, request: Request, seconds: number, script: string): Promise<Completed> {
  const { method, path, headers, body } = request;
  const assigned = Object.entries(headers).map(([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`);
  await writeFile(
    script,
    `wrk.method = ${lua(method)}
${assigned.join('\n')}
${body === undefined ? '' : `wrk.body = ${lua(body)}`}
done = function(summary)
  local e = summary.errors
  io.write(string.format('\\nRESULT %d %d %d\\n', summary.requests, e.connect + e.read + e.write + e.status + e.timeout, summary.duration))
end
`,
  );
  const run = ['-t', '1', '-c', String(CONNECTIONS), '-d', `${seconds}s`, '-s', script, url + path];
  const { stdout } = await promisify(execFile)('wrk', run);
  const [, requests, failed, microseconds] = /^RESULT ([0-9]+) ([0-9]+) ([0-9]+)$/m.exec(stdout) ?? [];
  if (requests === undefined) throw new Error(`wrk said nothing of its requests: ${stdout}`);
  return { requests: Number(requests), failed: Number(failed), seconds: Number(microseconds) / 1e6 };
}

/** Of ASCII, where Lua quotes as JSON does. */
function lua(text: string): string {
  return JSON.stringify(text);
}
