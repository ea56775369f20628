import { createRouter } from '../../../src/pipeline/route/router.ts';
import { canonicalTarget, foldedPath } from '../../../src/pipeline/route/target.ts';
import { isCut, must, readOrReason } from './must.ts';
import type { Reader } from '../reader.ts';

const mounts = new Map(['/', '/mcp', '/admin', '/demo/data', '/Mixed'].map((path) => [path, path]));
const router = createRouter(mounts);

/** A request target: split as `new URL` does, and routed as a server that decodes and ignores case would. */
function check(input: Buffer): void {
  const text = input.toString('latin1');
  const read = readOrReason(() => canonicalTarget(text));
  if ('reason' in read) return;
  const { path, query } = read.value;
  must(path + query === text, 'not byte for byte');
  must(new URL(text, 'http://x').pathname === path, `new URL reads ${new URL(text, 'http://x').pathname}`);
  const decoded = decodeURIComponent(path);
  must(!isCut(decoded), 'a character that cuts the path');
  must(decoded.split('/').length === path.split('/').length, 'a hidden separator');
  must(
    !decoded
      .normalize('NFKC')
      .split(/[/\\]/)
      .some((segment) => segment === '.' || segment === '..'),
    'a dot segment',
  );
  must(
    foldedPath(path) === foldedPath(path.toUpperCase()).toLowerCase() || path.includes('%'),
    'case changes the folded path',
  );
  const routed = readOrReason(() => router(path));
  if ('reason' in routed) return;
  const lower = decoded.toLowerCase();
  const met = [...mounts.keys()]
    .filter((mount) => mount === '/' || lower === mount.toLowerCase() || lower.startsWith(`${mount.toLowerCase()}/`))
    .toSorted((one, other) => other.length - one.length)[0];
  must(met === routed.value, `a server that ignores case routes to ${met}, the gateway to ${routed.value}`);
  const dropped = lower
    .normalize('NFKC')
    .replaceAll(/[\p{Cf}\p{Cc}]/gu, '')
    .split('/')
    .map((segment) =>
      segment
        .trim()
        .replace(/[. ]+$/, '')
        .replace(/[ ]*\..*$/, ''),
    )
    .join('/');
  for (const mount of ['/mcp', '/admin', '/demo/data']) {
    const meets = `${dropped}/`.startsWith(`${mount}/`);
    must(
      !meets || routed.value === mount,
      `a server that drops ends of segments routes to ${mount}, the gateway to ${routed.value}`,
    );
  }
}

export const path: Reader = {
  check,
  words: (
    '/|//|/..|/.|%2e|%2f|%5c|%c3%a9|%e2%84%aa|%ef%bc%8f|;|?|#|/mcp|/admin|/Mixed|/demo/data|.json|.|' +
    '%20|%e2%80%8b|%61|%25|\\'
  ).split('|'),
};
