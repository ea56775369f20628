import type { BodyFilter } from './body-filter.ts';

/** Within a JSON string the quotes would be escaped: this is a member, and nothing else. */
const publicScope = /("cacheScope"\s*:\s*)"public"/gi;
const spelled = '"cachescope":"public"';
/** Longer than the member in any spelling that a serializer writes. */
const LONGEST = 128;

/**
 * Creates the filter that makes a `public` result `private`, so that no cache shows it to other users. It holds back no
 * more than the beginning of the member: results of any length, and the events of a stream, flow.
 */
export function createPrivateFilter(): BodyFilter {
  let held = '';
  return {
    push(chunk) {
      const text = (held + chunk.toString('latin1')).replace(publicScope, '$1"private"');
      const end = beginningOfMember(text);
      held = text.slice(end);
      return end === 0 ? [] : [Buffer.from(text.slice(0, end), 'latin1')];
    },
    end: () => (held === '' ? [] : [Buffer.from(held, 'latin1')]),
  };
}

/** Where the member may have begun whose end has not come yet; the length of `text` where it has not. */
function beginningOfMember(text: string): number {
  let at = text.indexOf('"', Math.max(0, text.length - LONGEST));
  while (at !== -1 && !spelled.startsWith(text.slice(at).replace(/\s/g, '').toLowerCase())) {
    at = text.indexOf('"', at + 1);
  }
  return at === -1 ? text.length : at;
}
