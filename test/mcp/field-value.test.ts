import { expect, test } from 'vitest';
import { decodedValue, encodedValue } from '../../src/mcp/agreement.ts';

test.each([
  ['eu', 'eu'],
  ['', ''],
  ['=?base64?w6k=?=', 'é'],
  ['=?base64??=', ''],
  ['=?base64?YQ==', '=?base64?YQ=='],
  ['YQ==?=', 'YQ==?='],
  ['=?BASE64?YQ==?=', '=?BASE64?YQ==?='],
])('R-104: MCP 2026-07-28 §Value Encoding: %j is %j', (value, text) => expect(decodedValue(value)).toBe(text));

test.each([
  ['a letter alone', '=?base64?e?='],
  ['bits left over', '=?base64?ZWNobx==?='],
  ['another alphabet', '=?base64?_-8=?='],
  ['no UTF-8', '=?base64?/w==?='],
  ['something before', '=?base64?!=?base64?YQ==?='],
  ['something behind', '=?base64?YQ==?=x?='],
])('is not well-formed with %s', (_, value) => expect(decodedValue(value)).toBeUndefined());

test.each([
  ['eu', 'eu'],
  ['a b', 'a b'],
  ['', '=?base64??='],
  [' a', '=?base64?IGE=?='],
  ['é', '=?base64?w6k=?='],
  ['=?base64?', '=?base64?PT9iYXNlNjQ/?='],
])('%j is encoded as %s, and decoded again', (text, value) => {
  expect(encodedValue(text)).toBe(value);
  expect(decodedValue(value)).toBe(text);
});
