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

/** Sends requests as fast as the server answers, over persistent connections. Returns their number: all must succeed. */
export async function saturate(
  url: string,
  request: Request,
  seconds: number,
  script: string,
  connections: number,
): Promise<number> {
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
  io.write(string.format('\\nRESULT %d %d\\n', summary.requests, failed))
end
`,
  );
  const run = ['-t', '1', '-c', String(connections), '-d', `${seconds}s`, '--timeout', '30s', '-s', script, url + path];
  const { stdout } = await promisify(execFile)('wrk', run);
  const [, requests = NaN, failed = NaN] = (/^RESULT ([0-9]+) ([0-9]+)$/m.exec(stdout) ?? []).map(Number);
  if (requests > 0 && failed === 0) return requests;
  throw new Error(`${method} ${url}${path}: ${failed} of ${requests} requests failed\n${stdout}`);
}

/** A Lua string. For ASCII, JSON and Lua have the same notation. */
function lua(text: string): string {
  return JSON.stringify(text);
}
