import { createPublicKey, generateKeyPairSync, hash, verify } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Chain } from '../../../src/capabilities/audit-chain/chain.ts';
import { runs } from '../../support/runs.ts';

const { privateKey: key } = generateKeyPairSync('ed25519');
const follows = [{ chain: 'before', seq: 7, hash: 'h' }];

function started(): Chain {
  return new Chain({ key: { kid: 'k', key }, follows, clock: () => 1_790_000_000_000 });
}

type Line = Readonly<Record<string, unknown>>;

const linesIn = (bytes: Buffer): readonly string[] => bytes.toString().split('\n').slice(0, -1);
const text = (...names: readonly string[]): Buffer => Buffer.from(names.map((name) => `{"msg":"${name}"}\n`).join(''));

/** Requires that lines are one chain, and returns them. */
function chained(lines: readonly string[]): readonly Line[] {
  let prev = '';
  return lines.map((line, index) => {
    const entry = JSON.parse(line) as Line;
    expect([entry['seq'], entry['prev']]).toEqual([index, prev]);
    prev = hash('sha256', line, 'base64url');
    return entry;
  });
}

test('begins with a checkpoint that names what it follows, and links each line to the one before', () => {
  const chain = started();
  const bytes = chain.link(text('a', 'b'));
  expect(chain.settled(bytes.length)).toBe(0);
  const lines = chained(linesIn(bytes));
  expect(lines.map(({ msg }) => msg)).toEqual(['checkpoint', 'a', 'b']);
  expect(lines[0]).toMatchObject({ level: 'info', follows });
  expect(new Set(lines.map((line) => line['chain'])).size).toBe(1);
});

test('signs the place and the hash of everything before', () => {
  const chain = started();
  chain.settled(chain.link(text('a')).length);
  chain.closeSection();
  const [last = ''] = linesIn(chain.link(text()));
  const { jws, chain: id, seq, prev } = JSON.parse(last) as Record<string, string>;
  const [header = '', payload = '', signature = ''] = jws?.split('.') ?? [];
  const decoded = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
  expect(decoded(header)).toEqual({ alg: 'EdDSA', kid: 'k' });
  expect(decoded(payload)).toEqual({ chain: id, seq, prev, time: '2026-09-21T14:13:20.000Z' });
  const signed = Buffer.from(`${header}.${payload}`);
  expect(verify(null, signed, createPublicKey(key), Buffer.from(signature, 'base64url'))).toBe(true);
});

test('signs a section only if it has lines', () => {
  const chain = started();
  chain.settled(chain.link(text()).length);
  chain.closeSection();
  expect(chain.link(text()).length).toBe(0);
  chain.settled(0);
  chain.settled(chain.link(text('b')).length);
  chain.closeSection();
  expect(linesIn(chain.link(text())).map((line) => (JSON.parse(line) as Line)['msg'])).toEqual(['checkpoint']);
});

test('whatever part of each write succeeds, the output is one chain of whole lines that counts what is lost', () => {
  const write = fc.record({ names: fc.array(fc.stringMatching(/^[a-z]{1,9}$/), { maxLength: 4 }), part: fc.nat(1000) });
  fc.assert(
    fc.property(fc.array(write, { maxLength: 12 }), (writes) => {
      const chain = started();
      let output = '';
      let given = 0;
      let lost = 0;
      for (const { names, part } of writes) {
        given += names.length;
        const bytes = chain.link(text(...names));
        const written = Math.min(bytes.length, part);
        output += bytes.toString('latin1', 0, written);
        lost += chain.settled(written);
      }
      const last = chain.link(text('end'));
      chain.settled(last.length);
      output += last.toString('latin1');
      const lines = chained(linesIn(Buffer.from(output)));
      const counted = lines.reduce((sum, { msg, count }) => sum + (msg === 'lost' ? (count as number) : 0), 0);
      const ofLog = lines.filter(({ msg }) => msg !== 'lost' && msg !== 'checkpoint').length - 1;
      expect([counted, ofLog]).toEqual([lost, given - lost]);
    }),
    { numRuns: runs },
  );
});

test('lines that were lost before are counted too', () => {
  const chain = started();
  chain.lose(3);
  const lines = chained(linesIn(chain.link(text('a'))));
  expect(lines[1]).toMatchObject({ msg: 'lost', count: 3 });
});
