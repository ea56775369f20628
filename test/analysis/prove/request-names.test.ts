import { expect, test } from 'vitest';
import { distinguishedRequests } from '../../../src/analysis/prove/request-names.ts';

test.each<readonly [names: string[], mentions: string[], methods: string, paths: string]>([
  [['GET /a'], [], 'GET HEAD PUT', '/ /x /x/ /x/x /x/x/ /x/x/x /x/x/x/ /a /a/'],
  [
    ['GET /a/'],
    ['PUT'],
    'GET PUT HEAD PATCH',
    '/ /x /x/ /x/x /x/x/ /x/x/x /x/x/x/ /x/x/x/x /x/x/x/x/ /x/x/x/... /x/x/x/.../ /x/x/... /x/x/.../ /x/... /x/.../ ' +
      '/... /.../ /a /a/',
  ],
  [
    ['GET /a/**', 'GET /b/**'],
    [],
    'GET HEAD PUT',
    '/ /x /x/ /x/x /x/x/ /x/x/x /x/x/x/ /a /a/ /a/x /a/x/ /a/x/x /a/x/x/ /b /b/ /b/x /b/x/ /b/x/x /b/x/x/',
  ],
  [
    ['* /A', 'PUT /x/**'],
    ['^M-SEARCH ', 'PATCH', '.'],
    'GET A PUT M-SEARCH PATCH HEAD X',
    '/ /xx /xx/ /xx/xx /xx/xx/ /xx/xx/xx /xx/xx/xx/ /xx/xx/... /xx/xx/.../ /xx/... /xx/.../ /... /.../ /A /A/ /x /x/ ' +
      '/x/xx /x/xx/ /x/xx/xx /x/xx/xx/ /x/xx/... /x/xx/.../ /x/... /x/.../ /a /a/',
  ],
])('a proof tries a request for each combination of %j and %j', (names, mentions, methods, paths) => {
  const requests = methods.split(' ').flatMap((method) => paths.split(' ').map((path) => `${method} ${path}`));
  expect(distinguishedRequests(names, mentions)).toEqual(requests);
});
