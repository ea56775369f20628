import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { log } from '../../src/cli/log.ts';
import { base, inFolder } from '../config/folder.ts';

/** Erases the screen, moves the cursor, starts a line, rings, reverses the text: as a foreign writer may log it. */
const hostile = 'a\u001b[2J\u009b2J\r\n\u0007\u202eb\u2028c\u0085d';

test('R-224: log prints no character that acts on a terminal, in any form', async () => {
  const names = ['time', 'decision', 'route', 'reason', 'subject', 'client_id', 'method', 'tool'];
  const decision = { msg: 'decision', allow: false, ...Object.fromEntries(names.map((name) => [name, hostile])) };
  await inFolder({ yaml: base }, async (folder) => {
    // As a writer that escapes only what JSON demands. A line whose time is no time is left out.
    const lines = [decision, { ...decision, time: '2026-01-01T00:00:00Z' }].map((line) => `${JSON.stringify(line)}\n`);
    await writeFile(join(folder, 'log'), lines.join(''));
    let shown = '';
    const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => Boolean((shown += String(text))));
    onTestFinished(() => stdout.mockRestore());
    for (const [summary, json] of [
      [false, false],
      [false, true],
      [true, false],
      [true, true],
    ] as const) {
      shown = '';
      const options = { config: join(folder, 'gateway.yaml'), follow: false, summary, json };
      expect(await log(join(folder, 'log'), options as Parameters<typeof log>[1])).toBe(0);
      expect(shown).toContain('[2J');
      expect(shown).not.toMatch(/[^\n\P{Cc}]|[\u2028-\u202e\u2066-\u2069]/u);
    }
  });
});
