import { isIPv6 } from 'node:net';
import { addressBlock } from '../../../src/lib/ip-address.ts';
import { maxAgeMs, retryAfterMs } from '../../../src/lib/http/header-fields.ts';
import { readTraceContext, traceparentOf } from '../../../src/lib/http/trace-context.ts';
import { withoutQuery } from '../../../src/lib/http/without-query.ts';
import { pointerReader } from '../../../src/lib/json/pointer.ts';
import { namePattern } from '../../../src/policy/pattern.ts';
import { uriPattern } from '../../../src/policy/pattern.ts';
import { must } from './must.ts';
import type { Reader } from '../reader.ts';

/** Small values of headers and claims, and patterns of policies. Each reads the first line, some also the second. */
function check(input: Buffer): void {
  const [first = '', second = ''] = input.toString('latin1').split('\n');
  const trace = readTraceContext(first, second === '' ? undefined : second);
  if (trace !== undefined) {
    const again = readTraceContext(traceparentOf(trace), trace.tracestate);
    must(
      again?.traceId === trace.traceId && again.parentId === trace.parentId,
      'another trace after writing and reading',
    );
    must(trace.tracestate === undefined || trace.tracestate === second, 'a changed tracestate');
  }
  const age = maxAgeMs(first);
  must(age === undefined || age >= 0, 'a negative age');
  const wait = retryAfterMs(first, 1_700_000_000_000);
  must(wait === undefined || wait >= 0, 'a negative wait');
  const block = addressBlock(first);
  must(!isIPv6(first) || addressBlock(block.replace('/64', '')) === block, 'the block of a block differs');
  must(
    withoutQuery(first).split('?')[0] === first.split('?')[0] &&
      !withoutQuery(first).includes('?', first.indexOf('?') + 1),
    'a query remains',
  );
  agree(() => namePattern(first).matches(second), first, second, '[^]*', '[^]*');
  agree(() => uriPattern(first).matches(second), first, second, '[^/?#]*', '[^]*');
  if (first.startsWith('/')) pointerReader(first)?.({ a: { b: [1] }, '': 2 });
}

/** A pattern, and a regular expression of the same meaning, agree on a text. */
function agree(matches: () => boolean, pattern: string, text: string, one: string, any: string): void {
  const found = matches();
  // A text without a wildcard is not a pattern. Long ones would make the regular expression backtrack.
  if (!pattern.includes('*') || pattern.split('*').length > 5 || text.length > 60) return;
  const source = pattern.replaceAll(/\*{2,}/g, '**').replaceAll(/\*\*?|[^*]/g, (part) => {
    if (part.startsWith('*')) return part === '**' ? any : one;
    return part.replace(/[\\^$.|?+()[\]{}/-]/, '\\$&');
  });
  must(new RegExp(`^${source}$`).test(text) === found, `the pattern gives ${found}, the regular expression ${!found}`);
}

export const values: Reader = {
  check,
  words: (
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01|a=1,b=2|max-age=60|no-store|120|' +
    'Fri, 21 Nov 2025 10:00:07 GMT|::1|::ffff:1.2.3.4|2001:db8::|%eth0|*|**|/|?|\n|get_*|a://b/*/c|' +
    '~1|~0'
  ).split('|'),
};
