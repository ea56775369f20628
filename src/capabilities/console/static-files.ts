import type { IncomingMessage, ServerResponse } from 'node:http';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { packageRoot } from '../package-root.ts';

/** The files of the console's page, built ahead by `npm run console`. */
interface StaticFiles {
  /** Whether there is a file of that name. */
  has(name: string): boolean;
  /** Answers with a file; false if there is none of that name. */
  serve(name: string, request: IncomingMessage, response: ServerResponse): boolean;
}

interface StaticFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Undefined in a checkout whose console is of an older build. */
  readonly gzipped: Buffer | undefined;
}

const folder = new URL('console/built/', packageRoot);

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * The content security policy of the pages: their own files, and requests to this listener. Nothing is inline, so that
 * no text of a caller could run or be styled.
 */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Reads all files into memory; none if the console was not built. */
export async function readStaticFiles(): Promise<StaticFiles> {
  const names = await readdir(folder).catch(() => []);
  const served = names.filter((name) => Object.hasOwn(types, extname(name)));
  const files = new Map(await Promise.all(served.map(async (name) => [name, await read(name)] as const)));
  return {
    has: (name) => files.has(name),
    serve(name, request, response) {
      const file = files.get(name);
      if (file === undefined) return false;
      response.setHeader('content-type', file.type);
      response.setHeader('vary', 'accept-encoding');
      if (extname(name) === '.html') response.setHeader('content-security-policy', pagePolicy);
      // The names of scripts and styles change with their content.
      else response.setHeader('cache-control', 'private, max-age=31536000, immutable');
      const takesGzip = /\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? '');
      const gzipped = takesGzip ? file.gzipped : undefined;
      if (gzipped !== undefined) response.setHeader('content-encoding', 'gzip');
      response.end(gzipped ?? file.bytes);
      return true;
    },
  };
}

async function read(name: string): Promise<StaticFile> {
  const [bytes, gzipped] = await Promise.all([
    readFile(new URL(name, folder)),
    readFile(new URL(`${name}.gz`, folder)).catch(() => undefined),
  ]);
  return { type: types[extname(name)] ?? '', bytes, gzipped };
}
