import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createDroppingFilter,
  createUnreadableFilter,
  JsonFilter,
  refusalEvent,
  type Rewriting,
  subscriptionEnd,
} from '../../src/mcp/body-filter.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { Action } from '../../src/core/model/grant.ts';
import { message } from '../core/policy/caller.ts';
import { property } from '../support/property.ts';
import { inPieces } from './in-pieces.ts';

const LONGEST = 8 * 1024 * 1024;
const changing: Rewriting = { concerns: () => true, rewrite: () => 'changed', mustRead: false };
const reading: Rewriting = { ...changing, mustRead: true };
const blind: Rewriting = {
  concerns: () => false,
  rewrite: () => {
    throw new Error('was read');
  },
  mustRead: true,
};
const braces = (length: number): Buffer => Buffer.alloc(length, '{');

/** Changes each `é` of a message that has `list`. */
const marking: Rewriting = {
  concerns: (part) => part.includes('list'),
  rewrite: (text) => (text.includes('é') ? text.replaceAll('é', 'changed') : undefined),
  mustRead: false,
};

describe('a JSON body', () => {
  property('is changed, however it is split into chunks', [fc.array(fc.nat(100))], (cuts) => {
    expect(inPieces(new JsonFilter(marking), Buffer.from('{"list": ["é"]}'), cuts).toString()).toBe(
      '{"list": ["changed"]}',
    );
  });

  test('that is empty stays empty', () => {
    expect(new JsonFilter(reading).end()).toEqual([]);
  });

  test('of up to 8 MiB is held until it is complete', () => {
    for (const rewriting of [changing, reading]) {
      const filter = new JsonFilter(rewriting);
      expect(filter.push(braces(LONGEST))).toEqual([]);
      expect(filter.end().join('')).toBe('changed');
    }
  });

  test('of more passes unread, or is refused where it must be read', () => {
    expect(() => new JsonFilter(reading).push(braces(LONGEST + 1))).toThrow(RangeError);
    const filter = new JsonFilter(changing);
    expect(filter.push(braces(LONGEST + 1))).toHaveLength(1);
    expect(filter.push(Buffer.from('y'))).toEqual([Buffer.from('y')]);
    expect(filter.end()).toEqual([]);
    const held = new JsonFilter(changing);
    held.push(Buffer.from('x'));
    expect(Buffer.concat(held.push(braces(LONGEST))).equals(Buffer.concat([Buffer.from('x'), braces(LONGEST)]))).toBe(
      true,
    );
  });

  test('that holds nothing to change is not decoded', () => {
    const filter = new JsonFilter(blind);
    filter.push(Buffer.from('{}'));
    expect(filter.end().join('')).toBe('{}');
  });

  test('without an object holds no message, and passes as it is', () => {
    for (const body of ['ping', '"\ufeff"', '[]']) {
      const filter = new JsonFilter(reading);
      filter.push(Buffer.from(body));
      expect(filter.end().join('')).toBe(body);
    }
  });

  test('RFC 8259 §8.1: is read without its BOM, and keeps it if nothing changes', () => {
    let seen = '';
    const noting: Rewriting = { ...reading, rewrite: (text) => void (seen = text) };
    const filter = new JsonFilter(noting);
    filter.push(Buffer.from('\ufeff{}'));
    expect([filter.end().join(''), seen]).toEqual(['\ufeff{}', '{}']);
  });

  test('that is not UTF-8 passes as it is, or is refused where it must be read', () => {
    const body = Buffer.from('{"a":"\xff"}', 'latin1');
    const passing = new JsonFilter(changing);
    passing.push(body);
    expect(passing.end()).toEqual([body]);
    const refusing = new JsonFilter(reading);
    refusing.push(body);
    expect(() => refusing.end()).toThrow(expect.objectContaining({ reason: 'upstream.invalid' }));
  });
});

describe('a body that is not read', () => {
  test('is refused at its first byte if it must be read', () => {
    const filter = createUnreadableFilter();
    expect(() => filter.push(Buffer.from('x'))).toThrow(expect.objectContaining({ reason: 'upstream.invalid' }));
    expect(createUnreadableFilter().end()).toEqual([]);
  });

  test('is dropped if it says nothing', () => {
    const filter = createDroppingFilter();
    expect(filter.push(Buffer.from('x'))).toEqual([]);
    expect(filter.end()).toEqual([]);
  });
});

const listen = { era: 'modern', attempt: message('subscriptions/listen'), messageId: 'x' };

test('a subscription of MCP 2026-07-28 ends with the result of its request', () => {
  const event = subscriptionEnd(listen as unknown as Action) ?? '';
  expect(event).toMatch(/^event: message\ndata: .*\n\n$/);
  expect(JSON.parse(event.slice('event: message\ndata: '.length))).toEqual({
    jsonrpc: '2.0',
    id: 'x',
    result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 'x' } },
  });
});

test.each([
  ['the stream of another request', { ...listen, attempt: message('tools/call') }],
  ['a legacy stream', { ...listen, era: 'legacy' }],
  ['a stream over HTTP', { ...listen, attempt: { ...message('subscriptions/listen'), kind: 'http' } }],
])('%s has no event at its end', (_, action) => expect(subscriptionEnd(action as unknown as Action)).toBeUndefined());

test('a request that gets no answer on its stream gets a JSON-RPC error', () => {
  const denial = new Denial('upstream.invalid', 'a detail');
  const event = refusalEvent({ messageId: 7 } as unknown as Action, 'abc', denial) ?? '';
  expect(JSON.parse(event.slice('event: message\ndata: '.length))).toEqual({
    jsonrpc: '2.0',
    id: 7,
    error: { code: 502, message: 'Bad gateway', data: { reason: 'upstream.invalid', decision: 'abc' } },
  });
  expect(refusalEvent({ messageId: null } as unknown as Action, 'abc', denial)).toBeUndefined();
});
