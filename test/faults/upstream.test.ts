import { expect, test } from 'vitest';
import { head, open, startRawUpstream, startWorld, until, type RawConnection } from '../forward/world.ts';
import { patient } from './rows.ts';
import { endure, sharedBed } from './survive.ts';
import { wireFault, wireRows } from './wire-faults.ts';

const bed = sharedBed();

test.each(wireRows('upstream'))('%s', patient, async (name) => {
  expect(await endure(bed(), wireFault(name))).toEqual([]);
});

test('upstream: closes a kept connection as it is used', patient, async () => {
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  const requests: string[] = [];
  const raw = await startRawUpstream(({ socket }) => {
    socket.on('data', (chunk) => requests.push(chunk.toString('latin1')));
    socket.write(answer);
  });
  const world = await startWorld([`name: raw, path: /raw, upstream: { url: ${raw.url} }`]);
  const authorization = `Authorization: Bearer ${await world.token()}`;
  for (const [at, request] of [
    head('POST /raw', authorization, 'Content-Length: 4') + 'once',
    head('GET /raw', authorization),
  ].entries()) {
    const client = await open(world.url, head('GET /raw', authorization));
    await client.has('\r\n\r\nok');
    const kept = raw.connections.at(-1) as RawConnection;
    // Closed with the first byte of the next request: the gateway cannot have known.
    kept.socket.prependOnceListener('data', () => kept.socket.resetAndDestroy());
    const [before, connections] = [client.received().length, raw.connections.length];
    client.socket.write(request);
    await until(() => /HTTP\/1\.1 (?:502|200) /.test(client.received().slice(before)), 'an answer');
    expect(client.received().slice(before), `request ${at}`).toContain(' 502 ');
    expect(raw.connections.length, 'it is not sent again').toBe(connections);
    client.socket.destroy();
  }
  await world.close();
  await raw.close();
});

test('upstream: sends interim answers for ever', patient, async () => {
  const raw = await startRawUpstream(({ socket }) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 50);
    socket.once('close', () => clearInterval(timer));
  });
  const world = await startWorld([`name: raw, path: /raw, upstream: { url: ${raw.url}, timeouts: { response: 1s } }`]);
  const authorization = `Authorization: Bearer ${await world.token()}`;
  const client = await open(world.url, head('GET /raw', authorization));
  await client.has('HTTP/1.1 504 ');
  expect(await until(() => raw.connections.every(({ ended }) => ended() !== undefined), 'it to be given up')).toBe(
    true,
  );
  client.socket.destroy();
  await world.close();
  await raw.close();
});
