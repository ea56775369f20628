import { describe, expect, test } from 'vitest';
import { refused, route, type Row } from './edits.ts';
import { edited } from './folder.ts';

const trusting = 'authorization_servers: [main, other]';

/** A route that trusts `main` and `other`, with what each says of its tokens. */
function both(main: string, other: string, lines = trusting): string {
  return edited(
    ['s3cr3t }', `s3cr3t${main} }`],
    ['routes:', `  other: { issuer: "http://x", introspection: { client_id: a, client_secret: b${other} } }\nroutes:`],
    route(lines),
  );
}

const place = ':12:28: routes[0].authorization_servers';
const shown = `${place}: route "api" would show its opaque tokens to main and other, which could use those of each other: set introspection.prefix of`;
const remedy = ', or opaque_tokens: shown_to_all on the route';

describe('opaque tokens on a route that trusts several servers with introspection', () => {
  test.each<Row>([
    ['need a prefix of each server', both('', ''), `${shown} main and other${remedy}`],
    ['need one of the last server too', both(', prefix: main_', ''), `${shown} other${remedy}`],
    [
      'need them where the route says by_prefix',
      both('', '', `${trusting}\n    opaque_tokens: by_prefix`),
      `${shown} main and other${remedy}`,
    ],
    [
      'have one owner: no two prefixes are the same',
      both(', prefix: x_', ', prefix: x_'),
      `${place}: introspection.prefix of main (x_) and of other (x_) overlap: neither may begin with the other`,
    ],
    [
      'have one owner: no prefix begins with another, whichever comes first',
      both(', prefix: x_y', ', prefix: x', `${trusting}\n    opaque_tokens: shown_to_all`),
      `${place}: introspection.prefix of main (x_y) and of other (x) overlap: neither may begin with the other`,
    ],
    ['are shown to all where the route says so', both('', '', `${trusting}\n    opaque_tokens: shown_to_all`)],
    ['go by their prefix', both(', prefix: main_', ', prefix: other_')],
    ['are of no concern where none is taken', both('', '', `${trusting}\n    tokens: [jwt]`)],
    ['are of no concern where one server is trusted', both('', '', 'authorization_servers: [main]')],
    [
      'go one of two ways',
      both('', '', `${trusting}\n    opaque_tokens: all\n    tokens: [jwt]`),
      ':13:20: routes[0].opaque_tokens: "all" is not by_prefix or shown_to_all',
    ],
    [
      'are none on a public route',
      edited(['audience: https://api.example', 'public: true'], route('opaque_tokens: by_prefix')),
      ':11:5: routes[0].opaque_tokens: cannot be combined with public: true',
    ],
  ])('%s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});
