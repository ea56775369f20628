import { describe, expect, test } from 'vitest';
import type { Attempt } from '../../../src/core/model/policy.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import { type PolicyDocument, PolicyError } from '../../../src/core/policy/document.ts';
import { call, decide, message, told } from './caller.ts';
import { decides } from './decides.ts';

const read = (uri: string): Attempt => message('resources/read', `resource ${uri}`);
const get = (name: string): Attempt => message('prompts/get', `prompt ${name}`);

decides(
  'no wider pattern covers a name that a lenient server reads as another entry',
  {
    tools: {
      'get_*': {},
      get_secret: { scope: 'admin' },
      'get_key_*': { scope: 'keys' },
      'Put_*': {},
      put_all: {},
      'old.*': {},
    },
    prompts: { '*': {}, Secret: { scope: 'admin' } },
  },
  String.raw`
call get_SECRET / GET_secret / "get_secret " / " get_secret" / get_secret. / "get_secret. ." → deny tool.unlisted tools
call "get_\u017fecret" / "get_secret\u200b" / "get_secret\ufeff" / "get_secret\n" → deny tool.unlisted tools
call "get_key\u2060_1" / "get_\u00adsecret" / "get_secret\ufe0f" / "get_secret\t" → deny tool.unlisted tools
call "get_\uff53ecret" / get_Key_1 / "get_KEY_\u200b1" / Put_All / put_ALL → deny tool.unlisted tools
call get_secret → deny scope.insufficient tools.get_secret.scope [admin]
call get_price / get_Price / get_price. / get_secrets / get_key → allow tools.get_*
call Put_one → allow tools.Put_*
call old.one → allow tools["old.*"]
call old. → deny tool.unlisted tools
get secret / SECRET / "Secret " / "\u017fecret" / "secret\u200d" → deny prompt.unlisted prompts
get Secret → deny scope.insufficient prompts.Secret.scope [admin]
get other → allow prompts.*`,
);

decides(
  'resources are listed by URI',
  {
    scope: 'read',
    resources: { 'p://*': {}, 'p://gold': { scope: 'gold' }, 'p://silver': { claims: { role: 'trader' } } },
  },
  `
read | read p://iron → allow resources.p://*
read gold | read p://gold → allow resources.p://gold
read | read p://gold → deny scope.insufficient resources.p://gold.scope [read gold]
read p://gold → deny scope.insufficient scope [read gold]
read {"role":"trader"} | read p://silver → allow resources.p://silver
read | read p://silver → deny claim.denied resources.p://silver.claims.role
read | read p://a/b / p://%67old → deny resource.unlisted resources
read | resources/subscribe resource p://iron → allow resources.p://*
read | resources/subscribe resource q:x → deny resource.unlisted resources
read | resources/unsubscribe resource p://iron → allow resources.p://*
read | resources/unsubscribe resource q:x → deny resource.unlisted resources
read | resources/list → allow policy
read | call get_price → deny tool.unlisted tools
read | get summary → deny prompt.unlisted prompts
read | tasks/list → deny method.unlisted methods`,
);

decides(
  'subscriptions/listen needs an entry and the scopes of every resource',
  { scope: 'read', resources: { 'p://*': {}, 'p://gold': { scope: 'gold' }, 'p://silver': { scope: 'silver' } } },
  `
read | listen → allow policy
listen → deny scope.insufficient scope [read]
read | listen p://iron p://tin → allow resources.p://*
read gold silver | listen p://gold p://silver → allow resources.p://gold
read | listen p://iron p://silver p://gold → deny scope.insufficient resources.p://silver.scope [read silver gold]
read silver | listen p://silver p://gold → deny scope.insufficient resources.p://gold.scope [read silver gold]
read | listen p://iron q:x → deny resource.unlisted resources
read | listen q:x p://iron → deny resource.unlisted resources`,
);

// What is being completed is not known yet.
decides(
  'prompts are listed by name, with conditions on arguments',
  { prompts: { 'sum_*': { arguments: { '/team': 'sales' } }, hello: {} } },
  `
get hello → allow prompts.hello
get hello {"anything":1} → allow prompts.hello
get sum_up {"team":"sales"} → allow prompts.sum_*
get sum_up {"team":"legal"} → deny argument.denied prompts.sum_*.arguments./team
get sum_up → deny argument.denied prompts.sum_*.arguments./team
get other → deny prompt.unlisted prompts
prompts/get → deny prompt.unlisted prompts
call hello → deny tool.unlisted tools
prompts/list → allow policy
completion/complete prompt sum_up → allow prompts.sum_*`,
);

decides(
  'completion/complete needs the entry of its reference if the policy lists that kind, else its own in methods',
  { prompts: { hello: { scope: 'p' } }, methods: { 'tasks/*': {} } },
  `
p | completion/complete prompt hello → allow prompts.hello
completion/complete prompt hello → deny scope.insufficient prompts.hello.scope [p]
completion/complete prompt other → deny prompt.unlisted prompts
completion/complete template p://{x} → deny method.unlisted methods
completion/complete resource p://x → deny method.unlisted methods
completion/complete → deny method.unlisted methods`,
);

decides(
  'completion/complete must also meet the conditions of its own entry',
  { resources: { 'p://*': { scope: 'r' } }, methods: { 'completion/complete': { scope: 'c' } } },
  `
r c | completion/complete template p://{x} → allow resources.p://*
completion/complete template p://{x} → deny scope.insufficient resources.p://*.scope [r c]
completion/complete template q://{x} → deny resource.unlisted resources
c | completion/complete prompt hello → allow methods.completion/complete
completion/complete prompt hello → deny scope.insufficient methods.completion/complete.scope [c]`,
);

decides(
  'methods lists other methods by name or pattern, and adds conditions to housekeeping',
  {
    scope: 'read',
    methods: { 'tasks/*': { scope: 'tasks' }, 'logging/setLevel': { scope: 'admin' }, 'x/*': {}, 'tasks/get': {} },
  },
  `
read tasks | tasks/find → allow methods.tasks/*
read tasks | tasks/list → deny method.unlisted methods
read | tasks/cancel → deny scope.insufficient methods.tasks/*.scope [read tasks]
read | tasks/get → allow methods.tasks/get
read admin | logging/setLevel → allow methods.logging/setLevel
read | logging/setLevel → deny scope.insufficient methods.logging/setLevel.scope [read admin]
read | x/y → allow methods.x/*
read | y/x → deny method.unlisted methods
read | ping → allow policy
read | response → allow policy
read | call t → deny tool.unlisted tools
read | read a:b → deny resource.unlisted resources
read | get p → deny prompt.unlisted prompts
read | listen a:b → deny resource.unlisted resources`,
);

decides(
  'methods allows no call on a target',
  { tools: { t: {} }, methods: { '*': { scope: 'all' } } },
  `
all | call t → allow tools.t
call t → deny scope.insufficient methods.*.scope [all]
all | call other → deny tool.unlisted tools
all | call → deny tool.unlisted tools
all | read a:b → deny resource.unlisted resources
all | get p → deny prompt.unlisted prompts
all | anything → allow methods.*
all | tasks/list → deny method.unlisted methods
ping → deny scope.insufficient methods.*.scope [all]`,
);

decides(
  'requests on one task need no entry, since its id is the handle of an allowed call',
  { scope: 'read', tools: {} },
  ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update']
    .flatMap((method) => [`read | ${method} → allow policy`, `${method} → deny scope.insufficient scope [read]`])
    .concat('read | tasks/list → deny method.unlisted methods', 'read | tasks/other → deny method.unlisted methods')
    .join('\n'),
);

decides(
  'a policy that lists nothing allows everything',
  { scope: 'read', lists: 'filter' },
  `
read | read a:/../b → allow policy
read | listen a:b → allow policy
read | tasks/list → allow policy`,
);

decides(
  'R-89: a policy that lists one tool allows no other method and no other tool',
  { scope: 'read', tools: { get_price: {}, pay: { claims: { role: 'trader' } } } },
  String.raw`
read | sampling/createMessage → deny method.unlisted methods
read | tools/execute → deny method.unlisted methods
read | x-vendor/anything → deny method.unlisted methods
read | tools//call → deny method.unlisted methods
read | rpc.discover → deny method.unlisted methods
read | completion/complete → deny method.unlisted methods
read | __proto__ → deny method.unlisted methods
read | toString → deny method.unlisted methods
read | call GET_PRICE / "get_price " / " get_price" / get_price/../pay / get_pricе → deny tool.unlisted tools
read | call "get_price\u200b" / get%5Fprice / ｇet_price → deny tool.unlisted tools
read | call __proto__ / constructor / hasOwnProperty / * / "" → deny tool.unlisted tools`,
);

test('R-89: the empty method is not listed', () => {
  expect(told(decide({ tools: {} }, {}, message('')))).toBe('deny method.unlisted methods');
});

describe.each(['tools', 'resources', 'prompts', 'methods'])('R-89: %s alone, and empty', (key) => {
  test.each([
    ['deny tool.unlisted tools', call('t')],
    ['deny resource.unlisted resources', read('a:b')],
    ['deny prompt.unlisted prompts', get('p')],
    ['deny method.unlisted methods', message('tasks/list')],
    ['allow policy', message('ping')],
    ['allow policy', { kind: 'http' }],
  ] as [string, Attempt][])('%s: %j', (expected, attempt) => {
    expect(told(decide({ [key]: {} }, {}, attempt))).toBe(expected);
  });
});

test.each([
  ['tools/call', 'tools', '*'],
  ['prompts/get', 'prompts', '*'],
  ['resources/subscribe', 'resources', '**'],
])('an entry for %s needs %s', (method, key, all) => {
  expect(() => compilePolicy('test', { methods: { [method]: {} } })).toThrow(
    `methods.${method}: allows nothing without ${key}: list there what ${method} may act on, or "${all}" for everything`,
  );
});

test.each<[PolicyDocument, string]>([
  [
    { prompts: { p: { arguments: { '/a~b': 1 } } } },
    'prompts.p.arguments./a~b: "/a~b" is not a JSON Pointer (RFC 6901): within a name, write "~" as "~0" and "/" as "~1"',
  ],
  [
    { methods: { 'x/*': {}, 'x/**': {} } },
    'methods.x/**: matches the same methods as "x/*"; only one of them can apply',
  ],
])('%j is refused', (document, told) => {
  expect(() => compilePolicy('test', document)).toThrow(new PolicyError('test', []).message + told);
});

test('allows tasks/list if methods names it', () => {
  const rules = { methods: { 'tasks/*': {}, 'tasks/list': { scope: 'all' } } };
  expect(told(decide(rules, { scope: 'all' }, message('tasks/list')))).toBe('allow methods.tasks/list');
});

decides(
  'folds a capital Σ to σ, whatever follows it in a pattern or a name',
  { tools: { '*': {}, 'ασ*': { scope: 'admin' } } },
  `
call ασβ → deny scope.insufficient tools.ασ*.scope [admin]
call ΑΣβ → deny tool.unlisted tools`,
);

test('a tool may have the name of a method that needs an exact entry', () => {
  expect(told(decide({ tools: { '*': {} } }, {}, call('tasks/list')))).toBe('allow tools.*');
});

test('an entry of methods adds conditions to calls of listed tools', () => {
  expect(() => compilePolicy('test', { tools: {}, methods: { 'tools/call': {} } })).not.toThrow();
});

test('a pattern covers names of up to 1024 characters', () => {
  const decided = (length: number): string => told(decide({ tools: { '*': {} } }, {}, call('x'.repeat(length))));
  expect(decided(1024)).toBe('allow tools.*');
  expect(decided(1025)).toBe('deny tool.unlisted tools');
});

test('a refusal explains the spelling of names of up to 2048 characters', () => {
  const decided = (length: number) => decide({ tools: { list: {} } }, {}, call('A'.repeat(length)));
  const spelling = ': only an exact entry covers a name that some servers read as "aaa';
  expect(decided(2048)).toMatchObject({ denial: { detail: expect.stringContaining(spelling) as string } });
  expect(decided(2049)).toMatchObject({ denial: { detail: expect.not.stringContaining(spelling) as string } });
});
