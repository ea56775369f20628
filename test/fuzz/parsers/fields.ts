import type { IncomingMessage } from 'node:http';
import { readFields } from '../../../src/pipeline/listen/fields.ts';
import { originalCall } from '../../../src/pipeline/listen/original-request.ts';
import { createClientBehind } from '../../../src/pipeline/listen/trusted-proxies.ts';
import type { Call } from '../../../src/model/call.ts';
import { canonicalTarget } from '../../../src/pipeline/route/target.ts';
import { must, readOrReason } from './must.ts';
import type { Reader } from '../reader.ts';

const behind = createClientBehind(['10.0.0.0/8', '::1'], ['10.0.0.0/8', '::1'])!;
const decisive = [
  'authorization',
  'content-length',
  'transfer-encoding',
  'host',
  'content-type',
  'mcp-session-id',
  'origin',
];

/** A header section, one `name: value` on each line: its own fields, and the request that a trusted proxy describes. */
function check(input: Buffer): void {
  const raw = input
    .toString('latin1')
    .split('\n')
    .flatMap((line) => {
      const [, name, value] = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
      return name === undefined || value === undefined ? [] : [name, value];
    });
  const read = readOrReason(() => readFields(raw));
  if ('reason' in read) return;
  const fields = read.value;
  must(
    fields.names.length * 2 === raw.length && fields.names.every((name, i) => name === raw[2 * i]?.toLowerCase()),
    'other names',
  );
  for (const name of decisive) must(fields.names.filter((each) => each === name).length <= 1, `two ${name}`);
  const client = readOrReason(() => behind('10.0.0.1', fields));
  if ('reason' in client) return;
  must(client.value?.forwardedFor.endsWith('10.0.0.1') === true, 'the peer is not the last hop');
  must(client.value.forwardedFor.startsWith(client.value.client), 'the client is not the first hop');
  const request = {
    rawHeaders: raw,
    httpVersionMajor: 1,
    url: '/_sallyport/authorize',
    method: 'GET',
  } as unknown as IncomingMessage;
  const asked = readOrReason(() => originalCall({ request, peer: '10.0.0.1' } as Call, canonicalTarget, behind));
  if ('reason' in asked) return;
  const { method, path, query } = asked.value;
  const said = (suffix: string): readonly string[] =>
    fields.names.flatMap((name, i) =>
      name === `x-forwarded-${suffix}` || name === `x-original-${suffix}` ? [raw[2 * i + 1] as string] : [],
    );
  must(JSON.stringify(said('method')) === JSON.stringify([method]), 'another method than the proxy sent');
  must(JSON.stringify(said('uri')) === JSON.stringify([path + query]), 'another target than the proxy sent');
}

export const fields: Reader = {
  check,
  words: (
    'Host: x\n|X-Forwarded-For: |X-Forwarded-Method: GET\n|X-Forwarded-Uri: /x\n|' +
    'X-Forwarded-Host: h\n|X-Original-Method: GET\n|X-Original-Uri: /y\n|Client-Cert: :MIIB:\n|' +
    'Connection: close, x\n|10.0.0.2|::ffff:1.2.3.4|[::1]:80|, |Transfer-Encoding: chunked\n|' +
    'Authorization: Bearer x\n|Expect: 100-continue\n'
  ).split('|'),
};
