import { expect, test } from 'vitest';
import { stageOf } from '../../bench/profile/owner.ts';

test.each([
  ['file:///repo/src/pipeline/forward/relay.ts', 'show', 'src/pipeline/forward'],
  ['file:///repo/src/pipeline/pipeline.ts', 'serve', 'src/pipeline'],
  ['file:///repo/src/serve/gateway/answer.ts', 'answer', 'src/serve/gateway'],
  ['file:///repo/bench/servers/undici-floor.ts', 'forward', 'the code of the floor'],
  ['file:///repo/node_modules/undici/lib/dispatcher/pool.js', 'dispatch', 'undici'],
  ['file:///repo/node_modules/@redis/client/dist/src/client.js', 'send', '@redis/client'],
  ['node:internal/streams/writable', 'end', 'Node'],
  ['node:_http_outgoing', 'end', 'Node'],
  ['', 'writev', 'writes to sockets'],
  ['', 'writeLatin1String', 'writes to sockets'],
  ['', '(garbage collector)', 'garbage collector'],
  ['', '(program)', 'outside JavaScript: the kernel, parsing, the event loop'],
  ['', 'toLowerCase', 'built-in functions'],
])('the time in %s %s is of %s', (url, functionName, stage) => {
  expect(stageOf({ url, functionName, lineNumber: 0 })).toBe(stage);
});
