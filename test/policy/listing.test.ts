import { describe, expect, test } from 'vitest';
import type { Attempt } from '../../src/model/policy.ts';
import { compilePolicy } from '../../src/policy/compile.ts';
import type { PolicyDocument } from '../../src/policy/document.ts';
import { PolicyError } from '../../src/policy/policy-error.ts';
import { type Given, call, decide, message, told } from './caller.ts';

type Row = readonly [given: Given, attempt: Attempt, told: string];

const read = (uri: string): Attempt => message('resources/read', `resource ${uri}`);
const get = (name: string, args?: unknown): Attempt => ({
  ...message('prompts/get', `prompt ${name}`),
  arguments: args,
});
const listen = (...uris: readonly string[]): Attempt =>
  message('subscriptions/listen', ...uris.map((uri) => `resource ${uri}`));
const trader = { claims: { role: 'trader' } };
const complete = (target: string): Attempt => message('completion/complete', target);

const table: readonly (readonly [string, PolicyDocument, readonly Row[]])[] = [
  [
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
    [
      ...[
        'get_SECRET',
        'GET_secret',
        'get_secret ',
        ' get_secret',
        'get_secret.',
        'get_secret. .',
        'get_\u017fecret',
        'get_secret\u200b',
        'get_secret\ufeff',
        'get_secret\n',
        'get_key\u2060_1',
        'get_\u00adsecret',
        'get_secret\ufe0f',
        'get_secret\t',
        'get_\uff53ecret',
        'get_Key_1',
        'get_KEY_\u200b1',
        'Put_All',
        'put_ALL',
      ].map((name): Row => [{}, call(name), 'deny tool.unlisted tools']),
      [{}, call('get_secret'), 'deny scope.insufficient tools.get_secret.scope [admin]'],
      [{}, call('get_price'), 'allow tools.get_*'],
      [{}, call('get_Price'), 'allow tools.get_*'],
      [{}, call('get_price.'), 'allow tools.get_*'],
      [{}, call('get_secrets'), 'allow tools.get_*'],
      [{}, call('get_key'), 'allow tools.get_*'],
      [{}, call('Put_one'), 'allow tools.Put_*'],
      [{}, call('old.one'), 'allow tools["old.*"]'],
      // It reads as `old`, which is not listed.
      [{}, call('old.'), 'deny tool.unlisted tools'],
      ...['secret', 'SECRET', 'Secret ', '\u017fecret', 'secret\u200d'].map((name): Row => [
        {},
        get(name),
        'deny prompt.unlisted prompts',
      ]),
      [{}, get('Secret'), 'deny scope.insufficient prompts.Secret.scope [admin]'],
      [{}, get('other'), 'allow prompts.*'],
    ],
  ],
  [
    'resources are listed by URI',
    {
      scope: 'read',
      resources: { 'p://*': {}, 'p://gold': { scope: 'gold' }, 'p://silver': { claims: { role: 'trader' } } },
    },
    [
      [{ scope: 'read' }, read('p://iron'), 'allow resources.p://*'],
      [{ scope: 'read gold' }, read('p://gold'), 'allow resources.p://gold'],
      [{ scope: 'read' }, read('p://gold'), 'deny scope.insufficient resources.p://gold.scope [read gold]'],
      [{}, read('p://gold'), 'deny scope.insufficient scope [read gold]'],
      [{ scope: 'read', ...trader }, read('p://silver'), 'allow resources.p://silver'],
      [{ scope: 'read' }, read('p://silver'), 'deny claim.denied resources.p://silver.claims.role'],
      [{ scope: 'read' }, read('p://a/b'), 'deny resource.unlisted resources'],
      [{ scope: 'read' }, read('p://%67old'), 'deny resource.unlisted resources'],
      [{ scope: 'read' }, message('resources/subscribe', 'resource p://iron'), 'allow resources.p://*'],
      [{ scope: 'read' }, message('resources/subscribe', 'resource q:x'), 'deny resource.unlisted resources'],
      [{ scope: 'read' }, message('resources/unsubscribe', 'resource p://iron'), 'allow resources.p://*'],
      [{ scope: 'read' }, message('resources/unsubscribe', 'resource q:x'), 'deny resource.unlisted resources'],
      [{ scope: 'read' }, message('resources/list'), 'allow policy'],
      [{ scope: 'read' }, call('get_price'), 'deny tool.unlisted tools'],
      [{ scope: 'read' }, get('summary'), 'deny prompt.unlisted prompts'],
      [{ scope: 'read' }, message('tasks/list'), 'deny method.unlisted methods'],
    ],
  ],
  [
    'subscriptions/listen needs an entry and the scopes of every resource',
    { scope: 'read', resources: { 'p://*': {}, 'p://gold': { scope: 'gold' }, 'p://silver': { scope: 'silver' } } },
    [
      [{ scope: 'read' }, listen(), 'allow policy'],
      [{}, listen(), 'deny scope.insufficient scope [read]'],
      [{ scope: 'read' }, listen('p://iron', 'p://tin'), 'allow resources.p://*'],
      [{ scope: 'read gold silver' }, listen('p://gold', 'p://silver'), 'allow resources.p://gold'],
      [
        { scope: 'read' },
        listen('p://iron', 'p://silver', 'p://gold'),
        'deny scope.insufficient resources.p://silver.scope [read silver gold]',
      ],
      [
        { scope: 'read silver' },
        listen('p://silver', 'p://gold'),
        'deny scope.insufficient resources.p://gold.scope [read silver gold]',
      ],
      [{ scope: 'read' }, listen('p://iron', 'q:x'), 'deny resource.unlisted resources'],
      [{ scope: 'read' }, listen('q:x', 'p://iron'), 'deny resource.unlisted resources'],
    ],
  ],
  [
    'prompts are listed by name, with conditions on arguments',
    { prompts: { 'sum_*': { arguments: { '/team': 'sales' } }, hello: {} } },
    [
      [{}, get('hello'), 'allow prompts.hello'],
      [{}, get('hello', { anything: 1 }), 'allow prompts.hello'],
      [{}, get('sum_up', { team: 'sales' }), 'allow prompts.sum_*'],
      [{}, get('sum_up', { team: 'legal' }), 'deny argument.denied prompts.sum_*.arguments./team'],
      [{}, get('sum_up'), 'deny argument.denied prompts.sum_*.arguments./team'],
      [{}, get('other'), 'deny prompt.unlisted prompts'],
      [{}, message('prompts/get'), 'deny prompt.unlisted prompts'],
      [{}, call('hello'), 'deny tool.unlisted tools'],
      [{}, message('prompts/list'), 'allow policy'],
      // What is being completed is not known yet.
      [{}, complete('prompt sum_up'), 'allow prompts.sum_*'],
    ],
  ],
  [
    'completion/complete needs the entry of its reference if the policy lists that kind, else its own in methods',
    { prompts: { hello: { scope: 'p' } }, methods: { 'tasks/*': {} } },
    [
      [{ scope: 'p' }, complete('prompt hello'), 'allow prompts.hello'],
      [{}, complete('prompt hello'), 'deny scope.insufficient prompts.hello.scope [p]'],
      [{}, complete('prompt other'), 'deny prompt.unlisted prompts'],
      [{}, complete('template p://{x}'), 'deny method.unlisted methods'],
      [{}, complete('resource p://x'), 'deny method.unlisted methods'],
      [{}, message('completion/complete'), 'deny method.unlisted methods'],
    ],
  ],
  [
    'completion/complete must also meet the conditions of its own entry',
    { resources: { 'p://*': { scope: 'r' } }, methods: { 'completion/complete': { scope: 'c' } } },
    [
      [{ scope: 'r c' }, complete('template p://{x}'), 'allow resources.p://*'],
      [{}, complete('template p://{x}'), 'deny scope.insufficient resources.p://*.scope [r c]'],
      [{}, complete('template q://{x}'), 'deny resource.unlisted resources'],
      [{ scope: 'c' }, complete('prompt hello'), 'allow methods.completion/complete'],
      [{}, complete('prompt hello'), 'deny scope.insufficient methods.completion/complete.scope [c]'],
    ],
  ],
  [
    'methods lists other methods by name or pattern, and adds conditions to housekeeping',
    {
      scope: 'read',
      methods: { 'tasks/*': { scope: 'tasks' }, 'logging/setLevel': { scope: 'admin' }, 'x/*': {}, 'tasks/get': {} },
    },
    [
      [{ scope: 'read tasks' }, message('tasks/find'), 'allow methods.tasks/*'],
      [{ scope: 'read tasks' }, message('tasks/list'), 'deny method.unlisted methods'],
      [{ scope: 'read' }, message('tasks/cancel'), 'deny scope.insufficient methods.tasks/*.scope [read tasks]'],
      [{ scope: 'read' }, message('tasks/get'), 'allow methods.tasks/get'],
      [{ scope: 'read admin' }, message('logging/setLevel'), 'allow methods.logging/setLevel'],
      [
        { scope: 'read' },
        message('logging/setLevel'),
        'deny scope.insufficient methods.logging/setLevel.scope [read admin]',
      ],
      [{ scope: 'read' }, message('x/y'), 'allow methods.x/*'],
      [{ scope: 'read' }, message('y/x'), 'deny method.unlisted methods'],
      [{ scope: 'read' }, message('ping'), 'allow policy'],
      [{ scope: 'read' }, message(undefined), 'allow policy'],
      [{ scope: 'read' }, call('t'), 'deny tool.unlisted tools'],
      [{ scope: 'read' }, read('a:b'), 'deny resource.unlisted resources'],
      [{ scope: 'read' }, get('p'), 'deny prompt.unlisted prompts'],
      [{ scope: 'read' }, listen('a:b'), 'deny resource.unlisted resources'],
    ],
  ],
  [
    'methods allows no call on a target',
    { tools: { t: {} }, methods: { '*': { scope: 'all' } } },
    [
      [{ scope: 'all' }, call('t'), 'allow tools.t'],
      [{}, call('t'), 'deny scope.insufficient methods.*.scope [all]'],
      [{ scope: 'all' }, call('other'), 'deny tool.unlisted tools'],
      [{ scope: 'all' }, call(undefined), 'deny tool.unlisted tools'],
      [{ scope: 'all' }, read('a:b'), 'deny resource.unlisted resources'],
      [{ scope: 'all' }, get('p'), 'deny prompt.unlisted prompts'],
      [{ scope: 'all' }, message('anything'), 'allow methods.*'],
      [{ scope: 'all' }, message('tasks/list'), 'deny method.unlisted methods'],
      [{}, message('ping'), 'deny scope.insufficient methods.*.scope [all]'],
    ],
  ],
  [
    'requests on one task need no entry, since its id is the handle of an allowed call',
    { scope: 'read', tools: {} },
    [
      ...['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update'].flatMap((method): Row[] => [
        [{ scope: 'read' }, message(method), 'allow policy'],
        [{}, message(method), 'deny scope.insufficient scope [read]'],
      ]),
      [{ scope: 'read' }, message('tasks/list'), 'deny method.unlisted methods'],
      [{ scope: 'read' }, message('tasks/other'), 'deny method.unlisted methods'],
    ],
  ],
  [
    'a policy that lists nothing allows everything',
    { scope: 'read', lists: 'filter' },
    [
      [{ scope: 'read' }, read('a:/../b'), 'allow policy'],
      [{ scope: 'read' }, listen('a:b'), 'allow policy'],
      [{ scope: 'read' }, message('tasks/list'), 'allow policy'],
    ],
  ],
];

describe.each(table)('%s', (_, document, rows) => {
  test.each(rows)('%j, %j: %s', (given, attempt, expected) => {
    expect(told(decide(document, given, attempt))).toBe(expected);
  });
});

describe('R-89: a policy that lists one tool', () => {
  const document = { scope: 'read', tools: { get_price: {}, pay: { claims: { role: 'trader' } } } };
  const denied = (attempt: Attempt): string => told(decide(document, { scope: 'read' }, attempt));

  test.each([
    'sampling/createMessage',
    'tools/execute',
    'x-vendor/anything',
    'tools//call',
    'rpc.discover',
    'completion/complete',
    '__proto__',
    'toString',
    '',
  ])('allows no method %j', (method) => expect(denied(message(method))).toBe('deny method.unlisted methods'));

  test.each([
    'GET_PRICE',
    'get_price ',
    ' get_price',
    'get_price/../pay',
    'get_pricе',
    'get_price\u200b',
    'get%5Fprice',
    'ｇet_price',
    '__proto__',
    'constructor',
    'hasOwnProperty',
    '*',
    '',
  ])('allows no tool %j', (name) => expect(denied(call(name))).toBe('deny tool.unlisted tools'));
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

test.each<[PolicyDocument, string]>([
  [
    { methods: { 'tools/call': {} } },
    'methods.tools/call: allows nothing without tools: list there what tools/call may act on, or "*" for everything',
  ],
  [
    { methods: { 'prompts/get': {} } },
    'methods.prompts/get: allows nothing without prompts: list there what prompts/get may act on, or "*" for everything',
  ],
  [
    { tools: {}, methods: { 'resources/subscribe': {} } },
    'methods.resources/subscribe: allows nothing without resources: list there what resources/subscribe may act on, or "**" for everything',
  ],
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

test('folds a capital Σ to σ, whatever follows it in a pattern or a name', () => {
  const rules = { tools: { '*': {}, 'ασ*': { scope: 'admin' } } };
  expect(told(decide(rules, {}, call('ασβ')))).toBe('deny scope.insufficient tools.ασ*.scope [admin]');
  expect(told(decide(rules, {}, call('ΑΣβ')))).toBe('deny tool.unlisted tools');
});

test('a tool may have the name of a method that needs an exact entry', () => {
  expect(told(decide({ tools: { '*': {} } }, {}, call('tasks/list')))).toBe('allow tools.*');
});

test('an entry of methods adds conditions to calls of listed tools', () => {
  expect(() => compilePolicy('test', { tools: {}, methods: { 'tools/call': {} } })).not.toThrow();
});
