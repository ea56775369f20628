import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** The request that the load repeats. */
export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The result of a load. */
export interface Completed {
  readonly requests: number;
  /** Answers without success, and broken connections. */
  readonly failed: number;
  readonly seconds: number;
}

/** Sends requests as fast as the server answers, over persistent connections. */
export async function saturate(
  url: string,
  request: Request,
  seconds: number,
  script: string,
  connections: number,
): Promise<Completed> {
  const { method, path, headers, body } = request;
  const assigned = Object.entries(headers).map(([name, value]) => `wrk.headers[${lua(name)}] = ${lua(value)}`);
  await writeFile(
    script,
    `wrk.method = ${lua(method)}
${assigned.join('\n')}
${body === undefined ? '' : `wrk.body = ${lua(body)}`}
done = function(summary)
  local e = summary.errors
  local failed = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format('\\nRESULT %d %d %d\\n', summary.requests, failed, summary.duration))
end
`,
  );
  const run = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '30s', '-s', script, url + path];
  const { stdout } = await promisify(execFile)('wrk', run);
  const [, requests, failed, microseconds] = /^RESULT ([0-9]+) ([0-9]+) ([0-9]+)$/m.exec(stdout) ?? [];
  if (requests === undefined) throw new Error(`wrk printed no result: ${stdout}`);
  return { requests: Number(requests), failed: Number(failed), seconds: Number(microseconds) / 1e6 };
}

/** A Lua string. For ASCII, JSON and Lua have the same notation. */
function lua(text: string): string {
  return JSON.stringify(text);
}
