import { describe, expect, test } from 'vitest';
import { refused, type Row, top, route, placeholder } from './edits.ts';
import { edited } from './folder.ts';

describe('placeholders', () => {
  test.each<Row>([
    ['an unset variable', top('listen: ${env:L}'), ':13:9: listen: the environment variable L is not set'],
    ['an empty variable', top('listen: ${env:EMPTY}'), ':13:9: listen: the environment variable EMPTY is empty'],
    ['an empty default', top('listen: ${env:L:-}'), ':13:9: listen: must not be empty'],
    [
      'a value that will not do',
      top('listen: ${env:SECRET}'),
      ':13:9: listen: "${env:SECRET}" is not an address such as 127.0.0.1:8080',
    ],
    [
      'a default that will not do',
      top('listen: ${env:L:-hunter2}'),
      ':13:9: listen: "${env:L:-…}" (its default) is not an address such as 127.0.0.1:8080',
    ],
    ['another word', top('listen: ${vault:L}'), `:13:9: listen: ${placeholder}`],
    ['no end', top('listen: ${env:L'), `:13:9: listen: ${placeholder}`],
    ['no name', top('listen: ${env:}'), `:13:9: listen: ${placeholder}`],
    ['one in another', top('listen: ${env:L:-${env:M}}'), `:13:9: listen: ${placeholder}`],
    ['no such file', top('listen: ${file:nope}'), ':13:9: listen: ${file:nope} does not exist'],
    ['a folder', top('listen: ${file:.}'), ':13:9: listen: ${file:.} is not a file'],
    ['an empty file', top('listen: ${file:empty}'), ':13:9: listen: ${file:empty} is empty'],
    ['a folder of policies', top('policies: ${env:SECRET}'), ':13:11: policies: "${env:SECRET}" is not a folder'],
    [
      'a policy',
      edited(route('policy: "${env:SECRET}"')),
      ':11:13: routes[0].policy: policies/${env:SECRET}.yaml does not exist; policies has no policy',
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});
