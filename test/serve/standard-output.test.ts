import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { standardOutput } from '../../src/serve/standard-output.ts';

/** Whatever else happens: the service goes on. */
function watched(output: Writable): { readonly errors: unknown[] } {
  const errors: unknown[] = [];
  output.on('error', (error) => errors.push(error));
  return { errors };
}

const ended = (output: Writable): Promise<void> => new Promise((resolve) => output.end(() => resolve()));

test('waits for a stuck reader, which then gets every line', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-'));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  // As a pipe is, once Node has looked at it as process.stdout.
  const writer = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  const output = standardOutput(writer);
  const { errors } = watched(output);
  const line = `${'x'.repeat(1023)}\n`;
  for (let count = 0; count < 512; count += 1) output.write(line);
  const done = ended(output);
  await sleep(100);
  expect(errors).toEqual([]);

  let received = '';
  const buffer = Buffer.alloc(64 * 1024);
  const finished = done.then(() => true);
  while (received.length < 512 * 1024) {
    try {
      received += buffer.toString('latin1', 0, readSync(reader, buffer));
    } catch {
      // Nothing is there yet.
    }
    await sleep(1);
  }
  expect(received).toBe(line.repeat(512));
  expect(await finished).toBe(true);
  for (const fd of [reader, writer]) closeSync(fd);
  rmSync(folder, { recursive: true });
});

test.runIf(existsSync('/dev/full'))('a full disk costs only lines', async () => {
  const full = openSync('/dev/full', 'w');
  const output = standardOutput(full);
  const { errors } = watched(output);
  output.write('one\n');
  output.write('two\n');
  await ended(output);
  expect(errors).toEqual([]);
  closeSync(full);
});

test('a closed reader does not end the process', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-'));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  closeSync(reader);
  const output = standardOutput(writer);
  const { errors } = watched(output);
  output.write('one\n');
  output.write('two\n');
  await ended(output);
  expect(errors).toEqual([]);
  closeSync(writer);
  rmSync(folder, { recursive: true });
});
