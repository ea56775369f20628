import { crc32 } from 'node:zlib';
import { createEventSplitter, eventData, withData } from '../../../src/mcp/event-stream.ts';
import { must } from './must.ts';
import type { Reader } from '../reader.ts';

/** An event stream: any cut gives the same events, with the data that a reader by WHATWG HTML §9.2 finds. */
function check(input: Buffer): void {
  const whole = split([input]);
  const cut = crc32(input) % (input.length + 1);
  const inTwo = split([input.subarray(0, cut), input.subarray(cut)]);
  const inBytes = split(Array.from(input, (byte) => Buffer.of(byte)));
  must(Buffer.concat(whole).equals(input), 'bytes are lost');
  // A CR at the end may be half of a line end. Only the next byte tells.
  must(said(whole) === said(inTwo) && said(whole) === said(inBytes), 'another cut gives other events');
  const events = whole.slice(0, -1).map((event) => event.toString('latin1'));
  // Readers ignore an event without data.
  const data = events.map(eventData).filter((each) => each !== '');
  must(JSON.stringify(data) === JSON.stringify(reference(input.toString('latin1'))), 'WHATWG HTML reads other data');
  for (const event of events) {
    must(
      eventData(withData(event, eventData(event))) === eventData(event),
      'the data differ after writing and reading',
    );
  }
}

/** The events, and last the remaining bytes. */
function split(chunks: readonly Buffer[]): readonly Buffer[] {
  const splitter = createEventSplitter(Infinity);
  const events = chunks.flatMap((chunk) => splitter.push(chunk));
  return [...events, splitter.release()];
}

function said(events: readonly Buffer[]): string {
  return JSON.stringify(events.map((event) => event.toString('latin1')));
}

/** The data of each complete event that has data. */
function reference(text: string): readonly string[] {
  // A CR at the end may be half of a line end.
  const lines = text.replace(/\r$/, '').split(/\r\n|\n|\r/);
  const found: string[] = [];
  let data: string[] = [];
  for (const line of lines.slice(0, -1)) {
    if (line === '') {
      found.push(data.join('\n'));
      data = [];
    } else if (line === 'data') data.push('');
    else if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
  }
  return found.filter((each) => each !== '');
}

export const events: Reader = {
  check,
  words: 'data: |data|\n|\r|\r\n|\n\n|\r\r|id: 1|event: x\n|: c\n|\r\n\r\n|data:{}|retry: 1'.split('|'),
};
