import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Denial } from '../../../../src/core/model/denial.ts';
import { canonicalTarget, foldedPath, type Target } from '../../../../src/core/gateway/route/router.ts';
import { property } from '../../../support/property.ts';
import { orReason } from '../../../support/denial.ts';
import { words } from '../../../support/words.ts';

function accepted(target: string): Target | undefined {
  try {
    return canonicalTarget(target);
  } catch (error) {
    if (error instanceof Denial) return undefined;
    throw error;
  }
}

function reason(target: string): string {
  return orReason(() => {
    canonicalTarget(target);
    return 'accepted';
  });
}

test.each([
  ['/', '/', ''],
  ['/api', '/api', ''],
  ['/api/', '/api/', ''],
  ['/api?', '/api', '?'],
  ['/api?a=1&b=2', '/api', '?a=1&b=2'],
  ['/api?next=/../x?y', '/api', '?next=/../x?y'],
  ['/api?q="a|b"`<>^{}\\', '/api', '?q="a|b"`<>^{}\\'],
  ['/a%20b', '/a%20b', ''],
  ['/caf%C3%A9', '/caf%C3%A9', ''],
  ['/caf%c3%a9', '/caf%c3%a9', ''],
  ["/~user/x@y:z!$&'()*+,=", "/~user/x@y:z!$&'()*+,=", ''],
  ...['?/.../admin', '?..%2f..%2fadmin', '?x=/admin%00', '?a;b', '?%zz', '??//', '?\\..\\admin', '?path=%2e%2e'].map(
    (query) => [`/x${query}`, '/x', query],
  ),
  ['/...', '/...', ''],
  ['/.well-known/x', '/.well-known/x', ''],
  ['/a%2Fb?c=%2f', '/a%2Fb', '?c=%2f'],
  ['/a.b/..c/d..', '/a.b/..c/d..', ''],
])('lets through, byte for byte: %s', (target = '', path, query) =>
  expect(canonicalTarget(target)).toEqual({ path, query }),
);

test('an encoded slash has one spelling', () =>
  expect(canonicalTarget('/a%2fb%2Fc?d=%2f')).toEqual({ path: '/a%2Fb%2Fc', query: '?d=%2f' }));

test.each([
  ['', 'request.target', 'nothing'],
  ['*', 'request.target', 'asterisk form'],
  ['http://x/api', 'request.target', 'absolute form'],
  ['http://[', 'request.target', 'absolute form that no URL parser reads'],
  ['example.com:443', 'request.target', 'authority form'],
  ['//evil/x', 'request.path', 'a network path'],
  ['/a//b', 'request.path', 'an empty segment'],
  ['/a//%zz', 'request.path', 'an empty segment'],
  ['/a/', 'accepted', 'a slash at the end is none'],
  ['/a/../b', 'request.path', 'a dot segment'],
  ['/a/./b', 'request.path', 'a dot segment'],
  ['/a/..', 'request.path', 'a dot segment at the end'],
  ['/a/.', 'request.path', 'a dot segment at the end'],
  ['/..', 'request.path', 'a dot segment alone'],
  ['/a/%2e%2e/b', 'request.path', 'encoded dots'],
  ['/a/.%2E/b', 'request.path', 'one dot encoded'],
  ['/a/.%E2%80%8B./b', 'request.path', 'a dot segment with an invisible character'],
  ['/a/..%EF%BB%BF/b', 'request.path', 'a dot segment before an invisible character'],
  ['/a/%E2%81%A0../b', 'request.path', 'a dot segment after an invisible character'],
  ['/a/..%20/b', 'request.path', 'a dot segment before a space'],
  ['/a/%20./b', 'request.path', 'a dot segment after a space'],
  ['/a/..%C2%A0', 'request.path', 'a dot segment before a space at the end'],
  ['/a/..+/b', 'request.path', 'a dot segment before a space written as a plus'],
  ['/a/%E2%80%8B/b', 'request.path', 'a segment of an invisible character'],
  ['/a/%252e%252e/b', 'request.path', 'doubly encoded'],
  ['/a%2f%2fb', 'request.path', 'an encoded slash that makes an empty segment'],
  ['/a%2f../b', 'request.path', 'an encoded slash beside a dot segment'],
  ['/a%5Cb', 'request.path', 'an encoded backslash'],
  ['/a\\..\\b', 'request.path', 'a backslash'],
  ['/a/..;/b', 'request.path', 'a path parameter'],
  ['/a;x=1/b', 'request.path', 'a path parameter'],
  ['/a%3bx', 'request.path', 'an encoded path parameter'],
  ['/%61dmin', 'request.path', 'an encoded letter'],
  ['/a%7Eb', 'request.path', 'an encoded tilde'],
  ['/a%00b', 'request.path', 'NUL'],
  ['/a%09', 'request.path', 'a tab'],
  ['/a%0d', 'request.path', 'a carriage return'],
  ['/a%2e', 'request.path', 'an encoded dot at the end'],
  ['/a%0d%0ab', 'request.path', 'a line break'],
  ['/a%7fb', 'request.path', 'DEL'],
  ['/a%', 'request.path', 'half an encoding'],
  ['/a%4', 'request.path', 'half an encoding'],
  ['/a%zz', 'request.path', 'no hexadecimal'],
  ['/a%c3', 'request.path', 'half a character'],
  ['/a%c0%afb', 'request.path', 'an overlong slash'],
  ['/a%ed%a0%80', 'request.path', 'a surrogate'],
  ['/x/%EF%BC%8E%EF%BC%8E/y', 'request.path', 'fullwidth dots'],
  ['/x/%E2%80%A5/y', 'request.path', 'a two dot leader'],
  ['/x%EF%BC%8F..%EF%BC%8Fy', 'request.path', 'dots between fullwidth slashes'],
  ['/x%EF%BC%BC..%EF%BC%BCy', 'request.path', 'dots between fullwidth backslashes, which Windows maps to \\'],
  ['/a#b', 'request.path', 'a fragment'],
  ['/a?b#c', 'request.target', 'a fragment after a query'],
  ['/a b', 'request.path', 'a space'],
  ['/caf\u00e9', 'request.path', 'raw latin1'],
  ['/a?b\u00e9', 'request.target', 'raw latin1 in a query'],
  ['/a?b c', 'request.target', 'a space in a query'],
  ['/a?b c?d', 'request.target', 'a space before another question mark'],
  ['/a[1]', 'request.path', 'brackets'],
  ['/a"b', 'request.path', 'a quote'],
])('the target %s → %s: %s', (target, wanted) => expect(reason(target)).toBe(wanted));

const piece = fc.constantFrom(
  '\\',
  "'",
  ' ',
  '\t',
  '\u00e9',
  '`',
  ...words(
    '/ // . .. %2e %2E %2f %5c ; ? # % %25 a Z %61 %20 " %C3%A9 %EF%BC%8E %EF%BC%8F %EF%BC%BC %E2%80%A5 %e2%84%aa [ | < {',
  ),
);
const target = fc.oneof(
  fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join('')}`),
  fc.string({ unit: 'binary' }).map((text) => `/${text}`),
  fc.string({ unit: 'binary' }),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
);

describe('for any target', () => {
  property(
    'nothing but a Denial is thrown, and what is accepted is returned whole',
    [target],
    (text) => {
      const { path, query } = accepted(text) ?? { path: text, query: '' };
      const given = text.slice(0, path.length);
      expect(path + query).toBe((accepted(text) ? given.replaceAll('%2f', '%2F') : given) + text.slice(path.length));
    },
    { numRuns: 2000 },
  );

  property(
    'what is accepted, `new URL` reads alike, but for the quotes that it encodes in a query',
    [target],
    (text) => {
      const found = accepted(text);
      if (found === undefined) return;
      const { pathname, search } = new URL(text, 'http://x');
      expect(pathname.replaceAll('%2f', '%2F')).toBe(found.path);
      const encoded = found.query.replaceAll(/["'<>]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
      expect(search).toBe(found.query === '?' ? '' : encoded);
    },
    { numRuns: 2000 },
  );

  property(
    'what is accepted has no dot segment once it is decoded, and no separator more but encoded slashes',
    [target],
    (text) => {
      const found = accepted(text);
      if (found === undefined) return;
      const decoded = decodeURIComponent(found.path);
      // Routes refuse these, or take them as a character.
      expect(decoded.split('/').length).toBe(found.path.split(/\/|%2F/).length);
      expect(decoded.split(/[/\\]/)).not.toContain('..');
      expect(decoded.normalize('NFKC').split(/[/\\]/)).not.toContain('..');
      expect(foldedPath(found.path).split(/[/\\]/)).not.toContain('..');
    },
    { numRuns: 2000 },
  );
});

describe('the folded path', () => {
  test.each([
    ['/Admin', '/admin'],
    ['/ADMIN/X', '/admin/x'],
    ['/%E2%84%AA', '/k'],
    ['/%C5%BF', '/s'],
    ['/%EF%BC%A1dmin', '/admin'],
    ['/%ef%bd%81dmin', '/admin'],
    ['/a%20B', '/a b'],
    ['/%C3%89', '/é'],
    ['/e%CC%81', '/é'],
    ['/x%EF%BC%8Fadmin', '/x/admin'],
  ])('%s is %s', (path, folded) => expect(foldedPath(path)).toBe(folded));

  property('folding twice is folding once, where it can be decoded again', [target], (text) => {
    const found = accepted(text);
    if (found === undefined) return;
    const folded = foldedPath(found.path);
    expect(folded.includes('%') || foldedPath(folded) === folded).toBe(true);
  });
});
