import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { load } from '../../src/serve/config/load.ts';
import { forThisTest } from '../support/start-before.ts';
import { writeFrontDoorFiles } from '../worlds/front-door.ts';

test('a front door leaves signals to the gateway, and ends when it refuses a reload, to be started again', async () => {
  const files = await forThisTest(writeFrontDoorFiles());
  const file = join(files.folder, 'gateway.yaml');
  const { snapshot } = await load(file);
  const child = fork('src/main.ts', ['front-door'], {
    env: { ...process.env, SALLYPORT_FRONT_DOOR_CHILD: '1' },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.send({ kind: 'begin', file, snapshot });
  await once(child, 'message').then(([message]) => expect(message).toMatchObject({ kind: 'listening' }));
  // A terminal sends signals to every process.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) child.kill(signal);
  const broken = { ...snapshot, texts: snapshot.texts.map(([name, text]) => [name, name === file ? '{' : text]) };
  child.send({ kind: 'reload', file, snapshot: broken });
  const [bug] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [
    { readonly kind: string; readonly stack: string },
  ];
  expect(bug).toMatchObject({ kind: 'bug', stack: expect.stringContaining('gateway.yaml') as string });
  expect(await once(child, 'exit')).toEqual([1, null]);
});
