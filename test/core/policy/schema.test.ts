import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import schema from '../../../schema/policy.schema.json' with { type: 'json' };
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';

const accepts = new Ajv2020({ allErrors: true, allowUnionTypes: true }).compile<PolicyDocument>(schema);

/** Where the schema found something wrong, and with which keyword. */
function refused(json: string): string[] {
  const document: unknown = JSON.parse(json);
  if (accepts(document)) return [];
  return (accepts.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);
}

/** The examples of `docs/policies.md` and one of each key. */
const accepted = [
  '{}',
  '{"scope":"read"}',
  '{"scope":"read write"}',
  '{"scope":["read","write"]}',
  '{"scope":"https://example.com/scope:a!#[]~"}',
  '{"scope":"read","claims":{"risk":{"integer":true,"below":50},"tenant":"acme","country":["SE","NO"],"/realm_access/roles":{"contains":"trader"},"ai_agent":{"not":true}},"any":[{"scope":"admin"},{"claims":{"department":{"matches":"^ops-"}}}],"max_lifetime":"60s","mode":"enforce"}',
  '{"scope":"read","tools":{"get_*":{},"transfer_funds":{"scope":"payments","claims":{"role":"trader"},"max_lifetime":"60s"}}}',
  '{"tools":{}}',
  '{"tools":{"t":{"arguments":{"/amount":{"at_most":1000},"/to/0":["a","b"],"/":true}}}}',
  '{"resources":{"prices://*":{},"prices://gold":{"scope":"gold"},"**":{"claims":{"role":"trader"}}}}',
  '{"prompts":{"summary_*":{"arguments":{"/team":"sales"}}}}',
  '{"methods":{"completion/complete":{},"logging/*":{"scope":"admin","max_lifetime":"1m"}}}',
  '{"tools":{},"resources":{},"prompts":{},"methods":{},"lists":"filter"}',
  '{"lists":"show"}',
  '{"lock":"deny"}',
  '{"lock":"report"}',
  '{"tools":{"t":{"any":[{}],"all":[{}],"not":{}}}}',
  '{"mode":"shadow"}',
  '{"because":"Ask ops@acme.example. \\u26a0\\ufe0f","tools":{"t":{"because":"x"}},"prompts":{"p":{"because":"x"}}}',
  '{"resources":{"a:b":{"because":"x"}},"methods":{"x/y":{"because":"x"}}}',
  `{"because":"${'\u{1F512}'.repeat(500)}"}`,
  '{"max_lifetime":"500ms"}',
  '{"max_lifetime":"5m"}',
  '{"acr":"phr","max_age":"5m"}',
  '{"tools":{"pay":{"acr":["urn:a:mfa","phr"],"max_age":"30s"}}}',
  '{"max_lifetime":"1h"}',
  '{"actors":{"count":{"at_most":1},"current":["agent-7"],"each":{"matches":"^agent-"}}}',
  '{"tools":{"pay":{"actors":{"count":0},"quota":[{"count":1,"per":"1h","by":"actor"}]}}}',
  '{"all":[{"any":[{"not":{"claims":{"a":true}}}]}]}',
  '{"not":{"scope":"a","claims":{"a":1},"any":[{}],"all":[{}],"not":{},"max_lifetime":"1s"}}',
  '{"claims":{"a":1.5,"b":false,"c":"","d":[1,"x",true]}}',
  '{"claims":{"a":{"equals":1,"one_of":[1,"2",true],"contains":"x","below":1,"at_most":1,"above":1,"at_least":1,"matches":"x","present":true,"not":"x","integer":true}}}',
  '{"claims":{"a":{"not":{"not":["x"]}}}}',
  '{"claims":{"__proto__":"x","constructor":"y"}}',
];

describe('the schema and the compiler accept', () => {
  test.each(accepted)('%s', (json) => {
    expect(refused(json)).toEqual([]);
    const document: PolicyDocument = JSON.parse(json);
    expect(() => compilePolicy('test', document)).not.toThrow();
  });
});

describe('the schema refuses', () => {
  test.each([
    ['null', ' type'],
    ['{"scopes":"read"}', ' additionalProperties'],
    ['{"scope":""}', '/scope pattern'],
    ['{"scope":" read"}', '/scope pattern'],
    ['{"scope":"read  write"}', '/scope pattern'],
    ['{"scope":"read\\twrite"}', '/scope pattern'],
    ['{"scope":"a\\"b"}', '/scope pattern'],
    ['{"scope":"é"}', '/scope pattern'],
    ['{"scope":[]}', '/scope minItems'],
    ['{"scope":["read write"]}', '/scope/0 pattern'],
    ['{"scope":[1]}', '/scope/0 type'],
    ['{"claims":{}}', '/claims minProperties'],
    ['{"claims":{"":1}}', '/claims minLength'],
    ['{"claims":{"a":null}}', '/claims/a type'],
    ['{"claims":{"a":{}}}', '/claims/a minProperties'],
    ['{"claims":{"a":[]}}', '/claims/a minItems'],
    ['{"claims":{"a":[null]}}', '/claims/a/0 type'],
    ['{"claims":{"a":{"belw":1}}}', '/claims/a additionalProperties'],
    ['{"claims":{"a":{"below":"50"}}}', '/claims/a/below type'],
    ['{"claims":{"a":{"equals":[1]}}}', '/claims/a/equals type'],
    ['{"claims":{"a":{"one_of":"x"}}}', '/claims/a/one_of type'],
    ['{"claims":{"a":{"one_of":[]}}}', '/claims/a/one_of minItems'],
    ['{"claims":{"a":{"contains":["x"]}}}', '/claims/a/contains type'],
    ['{"claims":{"a":{"matches":1}}}', '/claims/a/matches type'],
    ['{"claims":{"a":{"matches":""}}}', '/claims/a/matches minLength'],
    ['{"claims":{"a":{"present":"yes"}}}', '/claims/a/present type'],
    ['{"claims":{"a":{"integer":false}}}', '/claims/a/integer const'],
    ['{"claims":{"a":{"not":{}}}}', '/claims/a/not minProperties'],
    ['{"any":[]}', '/any minItems'],
    ['{"any":[{"mode":"shadow"}]}', '/any/0 additionalProperties'],
    ['{"any":[{"tools":{}}]}', '/any/0 additionalProperties'],
    ['{"all":[]}', '/all minItems'],
    ['{"not":[]}', '/not type'],
    ['{"not":{"mode":"shadow"}}', '/not additionalProperties'],
    ['{"max_lifetime":60}', '/max_lifetime type'],
    ['{"max_lifetime":"60"}', '/max_lifetime pattern'],
    ['{"max_lifetime":"0s"}', '/max_lifetime pattern'],
    ['{"max_lifetime":"1d"}', '/max_lifetime pattern'],
    ['{"max_lifetime":"1.5s"}', '/max_lifetime pattern'],
    ['{"max_lifetime":"9999999999h"}', '/max_lifetime pattern'],
    ['{"mode":"off"}', '/mode enum'],
    ['{"because":1}', '/because type'],
    ['{"because":""}', '/because pattern'],
    ['{"because":"  "}', '/because pattern'],
    [`{"because":"${'x'.repeat(501)}"}`, '/because maxLength'],
    ['{"because":"two\\nlines"}', '/because pattern'],
    ['{"because":"two\\u2028lines"}', '/because pattern'],
    ['{"because":"\\u001b[2J"}', '/because pattern'],
    ['{"because":"isolated \\u2066"}', '/because pattern'],
    ['{"because":"\\u0085"}', '/because pattern'],
    ['{"because":"\\ud800"}', '/because pattern'],
    ['{"because":"right to left \\u202e"}', '/because pattern'],
    ['{"because":"a tag \\udb40\\udc41"}', '/because pattern'],
    ['{"any":[{"because":"x"}]}', '/any/0 additionalProperties'],
    ['{"tools":[]}', '/tools type'],
    ['{"tools":{"":{}}}', '/tools minLength'],
    ['{"tools":{"a":{"mode":"shadow"}}}', '/tools/a additionalProperties'],
    ['{"tools":{"a":{"tools":{}}}}', '/tools/a additionalProperties'],
    ['{"tools":{"a":{"arguments":{}}}}', '/tools/a/arguments minProperties'],
    ['{"tools":{"a":{"arguments":{"amount":1}}}}', '/tools/a/arguments pattern'],
    ['{"tools":{"a":{"arguments":{"":1}}}}', '/tools/a/arguments pattern'],
    ['{"tools":{"a":{"arguments":{"/a":null}}}}', '/tools/a/arguments/~1a type'],
    ['{"tools":{"a":{"any":[{"arguments":{"/a":1}}]}}}', '/tools/a/any/0 additionalProperties'],
    ['{"arguments":{"/a":1}}', ' additionalProperties'],
    ['{"resources":{"a:b":{"arguments":{"/a":1}}}}', '/resources/a:b additionalProperties'],
    ['{"prompts":[]}', '/prompts type'],
    ['{"methods":{"ping":null}}', '/methods/ping type'],
    ['{"methods":{"ping":{"arguments":{"/a":1}}}}', '/methods/ping additionalProperties'],
    ['{"lists":"hide"}', '/lists enum'],
    ['{"lock":true}', '/lock enum'],
  ])('%s', (json, error) => {
    expect(refused(json)).toContain(error);
  });
});

test('refuses numbers that are not finite', () => {
  expect(accepts({ claims: { a: { below: Number.NaN } } })).toBe(false);
  expect(accepts({ claims: { a: Number.POSITIVE_INFINITY } })).toBe(false);
});
