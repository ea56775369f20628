import { expect, test } from 'vitest';
import type { ConfigParts, InProcess } from '../../src/capabilities/capability.ts';
import { lazily, lazilyOn } from '../../src/capabilities/lazily.ts';
import type { Route } from '../../src/core/model/route.ts';
import { quietParts, quietRoute } from '../support/process-parts.ts';

const route = { name: 'tools' } as Route;
const under = (...routes: readonly Route[]): ConfigParts => ({
  config: { publicUrl: 'https://gateway.test', routes },
  clients: new Map(),
  secret: '',
});

/** A capability that every route uses, and how often its code was loaded. */
function counted(fails = 0) {
  const seen = { loads: 0, dropped: 0, configurations: 0 };
  const inProcess: InProcess = {
    open() {
      seen.configurations += 1;
      return { of: () => ({ readsArguments: true }) };
    },
    drop: () => (seen.dropped += 1),
    state: () => ({ a: 1 }),
    news: () => ['news'],
  };
  const openProcess = lazilyOn(
    () => true,
    async () => {
      seen.loads += 1;
      if (seen.loads <= fails) throw new Error('EMFILE');
      return () => inProcess;
    },
  );
  return { seen, inProcess: openProcess(quietParts) };
}

/** As a process takes a configuration into force. */
async function opened(inProcess: InProcess, about: ConfigParts) {
  await inProcess.prepare?.(about.config);
  return inProcess.open(about);
}

test('loads no code for a configuration that does not use it', async () => {
  const { seen, inProcess } = counted();
  expect((await opened(inProcess, under())).of(route, quietRoute)).toEqual({});
  inProcess.drop?.(() => true);
  expect([inProcess.state?.(), inProcess.news?.()]).toEqual([{}, []]);
  expect(seen).toEqual({ loads: 0, dropped: 0, configurations: 0 });
});

test('loads it once, before a configuration that uses it is open, and keeps it for those that do not', async () => {
  const { seen, inProcess } = counted();
  expect((await opened(inProcess, under(route))).of(route, quietRoute)).toEqual({ readsArguments: true });
  await opened(inProcess, under(route));
  await opened(inProcess, under());
  inProcess.drop?.(() => true);
  expect([inProcess.state?.(), inProcess.news?.()]).toEqual([{ a: 1 }, ['news']]);
  expect(seen).toEqual({ loads: 1, dropped: 1, configurations: 3 });
});

test('a configuration whose code cannot be loaded cannot be used; the next attempt loads it again', async () => {
  const { inProcess } = counted(1);
  await expect(opened(inProcess, under(route))).rejects.toThrow('EMFILE');
  expect((await opened(inProcess, under(route))).of(route, quietRoute)).toEqual({ readsArguments: true });
});

test('a configuration that was not prepared does not open without its gates', () => {
  const { inProcess } = counted();
  expect(() => inProcess.open(under(route))).toThrow('prepared');
});

test('a configuration may use it without a route', async () => {
  const loads: true[] = [];
  const openProcess = lazily(
    ({ publicUrl }) => publicUrl.endsWith('.test'),
    async () => {
      loads.push(true);
      return () => ({ open: () => ({ of: () => ({}) }) });
    },
  );
  await opened(openProcess(quietParts), under());
  expect(loads).toEqual([true]);
});
