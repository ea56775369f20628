import { createTokenReader } from '../../../src/pipeline/authenticate/credentials.ts';
import type { Call } from '../../../src/model/call.ts';
import { must, readOrReason } from './must.ts';
import type { Reader } from '../reader.ts';

/** An `Authorization` field and a query, one line each: a token by RFC 6750 §2.1, or a refusal. */
function check(input: Buffer): void {
  const [authorization, ...rest] = input.toString('latin1').split('\n');
  const query = rest.length === 0 || rest[0] === '' ? '' : `?${rest.join('')}`;
  const read = (dpop: boolean, socket: object) =>
    readOrReason(() =>
      createTokenReader(dpop)({ fields: { authorization }, query, request: { socket } } as unknown as Call),
    );
  const found = read(false, {});
  const either = read(true, {});
  if ('value' in found) {
    must('value' in either, 'a Bearer token is refused if DPoP is served too');
    must(found.value.scheme === 'bearer', 'another scheme than Bearer');
  }
  if ('reason' in either) return;
  const { scheme, value } = either.value;
  const words = (authorization ?? '').split(/ +/);
  must(
    words.length === 2 && words[0]?.toLowerCase() === scheme && words[1] === value,
    'not the two words of the field',
  );
  must(/^[A-Za-z0-9\-._~+/]+=*$/.test(value), 'not a b64token');
  must(!new URLSearchParams(query).has('access_token'), 'another token in the query');
}

export const credentials: Reader = {
  check,
  words: 'Bearer |bearer|DPoP |Basic |=|~|access_token=x|%61ccess_token=|&|a.b.c|  |\t'.split('|'),
};
