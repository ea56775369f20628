import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { expect, test } from 'vitest';
import { ClientAnswer } from '../../../../src/core/gateway/forward/client-answer.ts';
import type { ResponseHeaders } from '../../../../src/core/gateway/forward/response-headers.ts';

const json: ResponseHeaders = {
  fields: ['Content-Type', 'application/json'],
  hasDate: false,
  hasLength: false,
  isEventStream: false,
  isJson: true,
  isEncoded: false,
  sessionId: undefined,
};
const events: ResponseHeaders = {
  ...json,
  fields: ['Content-Type', 'text/event-stream'],
  isEventStream: true,
  isJson: false,
};

/** The pieces that Node hands to the connection of an answer, each list with one system call. */
async function writes(
  headers: ResponseHeaders,
  give: (answer: ClientAnswer, response: ServerResponse) => void,
  request = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
): Promise<string[][]> {
  const written: string[][] = [];
  const keep = (chunks: readonly Buffer[]): void => {
    const pieces = chunks.map((chunk) => chunk.toString('latin1')).filter((piece) => piece !== '');
    if (pieces.length > 0) written.push(pieces);
  };
  const connection = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      keep([chunk]);
      done();
    },
    writev(chunks, done) {
      keep(chunks.map(({ chunk }) => chunk as Buffer));
      done();
    },
  });
  const server = createServer((_, response) => {
    response.sendDate = false;
    const answer = new ClientAnswer(response);
    answer.begin(200, 'OK', { ...headers, fields: [...headers.fields] });
    give(answer, response);
  });
  server.emit('connection', connection);
  connection.push(request);
  await once(connection, 'finish');
  return written;
}

const event = 'data: \u00e5\n\n';
const chunk = Buffer.from(event, 'latin1');
const head = (type: string, framing: string): string =>
  `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\n${framing}Connection: close\r\n`;

const chunked = 'Transfer-Encoding: chunked\r\n\r\n';

test.each<[string, ResponseHeaders, parts: readonly string[], whole: string, request?: string]>([
  [
    'R-134: an event stream, as one chunk and the last chunk',
    events,
    [event],
    `${head('text/event-stream', '')}${chunked}9\r\n${event}\r\n0\r\n\r\n`,
  ],
  [
    'an event stream for HTTP/1.0, which has no chunks',
    events,
    [event],
    `${head('text/event-stream', '')}\r\n${event}`,
    'GET / HTTP/1.0\r\n\r\n',
  ],
  [
    'several chunks, with a length',
    json,
    ['[', '1', ']'],
    `${head('application/json', 'Content-Length: 3\r\n')}\r\n[1]`,
  ],
  ['without a body', events, [], `${head('text/event-stream', '')}${chunked}0\r\n\r\n`],
])('%s: an answer that ends before it is shown leaves in one piece', async (_what, headers, parts, whole, request) => {
  const give = (answer: ClientAnswer): void => {
    for (const part of parts) expect(answer.write(Buffer.from(part, 'latin1'))).toBe(true);
    answer.end();
  };
  expect(await writes(headers, give, request)).toEqual([[whole]]);
});

test('bytes beyond 16 KiB in several chunks are shown at once, since more may follow', async () => {
  const half = Buffer.alloc(8 * 1024, 'x');
  await writes(events, (answer, response) => {
    answer.write(half);
    answer.write(half);
    expect(response.headersSent).toBe(false);
    answer.write(Buffer.from('y'));
    expect(response.headersSent).toBe(true);
    answer.end();
  });
});

test('what is shown leaves in one system call, and each later event in another', async () => {
  const written = await writes(events, (answer) => {
    answer.write(chunk);
    answer.show();
    setImmediate(() => {
      answer.write(chunk);
      setImmediate(() => answer.end());
    });
  });
  const framed = `9\r\n${event}\r\n`;
  expect(written.map((pieces) => pieces.join(''))).toEqual([
    head('text/event-stream', '') + chunked + framed,
    framed,
    '0\r\n\r\n',
  ]);
});
