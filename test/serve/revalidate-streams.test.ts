import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { OpenStream } from '../../src/core/gateway/forward/open-streams.ts';
import { Denial } from '../../src/core/model/denial.ts';
import { createRevalidation } from '../../src/serve/front-door-revocations.ts';

const away = new Denial('authorization_server.unavailable', 'no answer');

/** A stream whose validations have these results, in their order; the last one repeats. */
function stream(calls: string[], name: string, ...results: readonly (Denial | undefined)[]): OpenStream {
  let at = 0;
  const revalidate = async (): Promise<void> => {
    calls.push(name);
    await setImmediate();
    calls.push(`${name} answered`);
    const result = results[Math.min(at, results.length - 1)];
    at += 1;
    if (result !== undefined) throw result;
  };
  return { held: { revalidate } } as unknown as OpenStream;
}

test('asks about one token after another', async () => {
  const calls: string[] = [];
  const streams = [stream(calls, 'a'), stream(calls, 'b', new Denial('token.inactive', 'revoked')), stream(calls, 'c')];
  await createRevalidation(() => streams)();
  expect(calls).toEqual(['a', 'a answered', 'b', 'b answered', 'c', 'c answered']);
});

test('asks again about those for which the server gave no answer, as long as they are open', async () => {
  const calls: string[] = [];
  const [again, gone] = [stream(calls, 'again', away, away, undefined), stream(calls, 'gone', away)];
  const streams = [stream(calls, 'once'), again, gone];
  // One closes while its token is validated.
  await createRevalidation(() => (calls.includes('gone') ? [again] : streams), 1)();
  const asked = calls.filter((call) => !call.includes(' '));
  expect(asked).toEqual(['once', 'again', 'gone', 'again', 'again']);
});

test('leaves the rest to a later call', async () => {
  const calls: string[] = [];
  const streams = [stream(calls, 'a'), stream(calls, 'b')];
  const revalidate = createRevalidation(() => streams);
  await Promise.all([revalidate(), revalidate()]);
  expect(calls.filter((call) => call === 'b')).toEqual(['b']);
});
