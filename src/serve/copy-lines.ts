import type { Readable, Writable } from 'node:stream';

/** Passes on whole lines, as fast as they are read: lines of several processes would run into each other. */
export function copyLines(from: Readable | null, to: Writable): void {
  let rest = '';
  from?.setEncoding('utf8').on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1;
    if (end === 0) {
      rest += text;
      return;
    }
    const flows = to.write(rest + text.slice(0, end));
    rest = text.slice(end);
    if (flows) return;
    from.pause();
    to.once('drain', () => from.resume());
  });
}
