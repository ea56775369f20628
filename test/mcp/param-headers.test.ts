import { expect, test } from 'vitest';
import { requireParamHeaders } from '../../src/mcp/param-headers.ts';
import type { ToolHeader } from '../../src/mcp/tool-headers.ts';
import { Denial } from '../../src/model/denial.ts';

/** The reason and the id of the refusal; undefined for a call that passes. */
function refusal(declared: readonly ToolHeader[], args: unknown, values: readonly string[]): unknown {
  const fields = [['Accept', '*/*'], ...values.map((value) => ['Mcp-Param-Region', value])] as const;
  const names = fields.map(([name]) => name.toLowerCase());
  try {
    requireParamHeaders(declared, args, { names, raw: fields.flat() }, 7);
    return undefined;
  } catch (error) {
    if (error instanceof Denial) return [error.reason, error.messageId];
    throw error;
  }
}

const at = (...path: string[]): ToolHeader => ({ field: 'mcp-param-region', path, isNumber: false });
const number: ToolHeader = { ...at('n'), isNumber: true };
const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

test.each<[string, ToolHeader, unknown, string[]]>([
  ['the same text', at('r'), { r: 'eu' }, ['eu']],
  ['an empty text', at('r'), { r: '' }, ['']],
  ['space around', at('r'), { r: 'eu' }, [' eu\t']],
  ['an encoded text', at('r'), { r: 'é' }, [encoded('é')]],
  ['an argument further down', at('a', 'r'), { a: { r: 'eu' } }, ['eu']],
  ['a boolean', at('r'), { r: false }, ['false']],
  ['a number as JSON writes it', at('r'), { r: 42 }, ['42']],
  ['a fraction', at('r'), { r: 1.5 }, ['1.5']],
  ['a number in another spelling', number, { n: 42 }, ['42.00']],
  ['a negative one', number, { n: -1.5 }, ['-1.50']],
  ['a small one as JSON writes it', number, { n: 1e-7 }, ['1e-7']],
  ['neither', at('r'), {}, []],
  ['neither, and no arguments', at('r'), undefined, []],
  ['neither, where what is above is null', at('a', 'r'), { a: null }, []],
  ['neither, where what is above is a text', at('r', 'length'), { r: 'eu' }, []],
  ['neither: a member of Object.prototype is none', at('r', 'name'), { r: {} }, []],
  ['neither: the constructor is no argument', at('constructor', 'name'), {}, []],
  ['no header for null', at('r'), { r: null }, []],
  ['no header for a container', at('r'), { r: ['eu'] }, []],
  ['no header for an integer that is not exact', number, { n: 2 ** 53 }, []],
  ['no header for a number beyond all', number, { n: Infinity }, []],
])('MCP 2026-07-28 §Custom Headers: passes %s', (_, declared, args, values) => {
  expect(refusal([declared], args, values)).toBeUndefined();
});

test.each<[string, ToolHeader, unknown, string[]]>([
  ['another text', at('r'), { r: 'eu' }, ['us']],
  ['another case', at('r'), { r: 'eu' }, ['EU']],
  ['a header that is missing', at('r'), { r: 'eu' }, []],
  ['a header for an argument that is absent', at('r'), {}, ['eu']],
  ['a header for null', at('r'), { r: null }, ['null']],
  ['a header for a container', at('r'), { r: ['eu'] }, ['eu']],
  ['a broken encoding', at('r'), { r: 'eu' }, ['=?base64?e?=']],
  ['a broken encoding for an argument that is absent', at('r'), {}, ['=?base64?e?=']],
  ['a broken encoding for a number', number, { n: 1 }, ['=?base64?e?=']],
  ['a header that stands twice', at('r'), { r: 'eu' }, ['eu', 'eu']],
  ['a second header that says something else', at('r'), { r: 'eu' }, ['eu', 'us']],
  ['another boolean', at('r'), { r: true }, ['True']],
  ['another number', number, { n: 42 }, ['42.5']],
  ['a number that is no decimal', number, { n: 42 }, ['0x2a']],
  ['a number in words for one that is none', number, { n: '42' }, ['42.0']],
  ['a number where the tool declares a text', at('r'), { r: 42 }, ['42.0']],
  ['an integer that is not exact', number, { n: 2 ** 53 }, ['9007199254740992']],
  ['a number beyond all', number, { n: Infinity }, ['Infinity']],
])('R-105: MCP 2026-07-28 §Custom Headers: refuses %s, with the id', (_, declared, args, values) => {
  expect(refusal([declared], args, values)).toEqual(['message.header_mismatch', 7]);
});

test('each declared header counts', () => {
  const other = { ...at('o'), field: 'mcp-param-other' };
  expect(refusal([other, at('r')], { r: 'eu' }, ['eu'])).toBeUndefined();
  expect(refusal([other, at('r')], { r: 'eu' }, ['us'])).toEqual(['message.header_mismatch', 7]);
});

test('a tool that declares none is free in what its callers send', () => {
  expect(refusal([], { r: 'eu' }, ['us', 'eu'])).toBeUndefined();
});
