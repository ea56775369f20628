import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { base, inFolder } from '../config/folder.ts';
import { outcome } from '../serve/process.ts';

/** Erases the screen, moves the cursor, starts a line, rings, reverses the text: as a foreign writer may log it. */
const hostile = 'a\u001b[2J\u009b2J\r\n\u0007\u202eb\u2028c\u0085d';

test('R-224: log prints no character that acts on a terminal, in any form', async () => {
  const names = ['time', 'decision', 'route', 'reason', 'subject', 'client_id', 'method', 'tool'];
  const decision = { msg: 'decision', allow: false, ...Object.fromEntries(names.map((name) => [name, hostile])) };
  await inFolder({ yaml: base }, async (folder) => {
    // As a writer that escapes only what JSON demands. A line whose time is no time is left out.
    const lines = [decision, { ...decision, time: '2026-01-01T00:00:00Z' }].map((line) => `${JSON.stringify(line)}\n`);
    await writeFile(join(folder, 'log'), lines.join(''));
    const forms = [[], ['--json'], ['--summary'], ['--summary', '--json']];
    const outcomes = await Promise.all(forms.map((args) => outcome(['log', 'log', ...args], folder)));
    for (const { code, stdout } of outcomes) {
      expect(code).toBe(0);
      expect(stdout).toContain('[2J');
      expect(stdout).not.toMatch(/[^\n\P{Cc}]|[\u2028-\u202e\u2066-\u2069]/u);
    }
  });
});
