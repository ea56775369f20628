import fc from 'fast-check';
import type { ConditionDocument, PolicyDocument, ValueDocument } from '../../../src/core/policy/document.ts';

/** A policy over a grid that is small enough for all of its callers and calls to be decided. */
const condition: fc.Arbitrary<ConditionDocument> = fc.oneof(
  fc.constant({}),
  fc.constantFrom('read', 'pay', 'pay read').map((scope) => ({ scope })),
  fc.constantFrom<ValueDocument>('a', ['a', 'b'], { not: 'a' }, { present: true }).map((r) => ({ claims: { r } })),
  fc.constant({ max_lifetime: '60s' }),
  fc.constantFrom('read', 'pay').map((scope) => ({ scope, claims: { r: 'a' } })),
  fc.constant({ not: { scope: 'pay' } }),
  fc
    .constantFrom('pay', 'read')
    .map((scope) => ({ any: [{ scope }, { claims: { r: 'b' } }, { max_lifetime: '60s' }] })),
  fc.constant({ any: [{ scope: 'read' }, { scope: 'pay' }] }),
);
const value = fc.constantFrom<ValueDocument>({ below: 1 }, { at_least: 1 }, { not: { below: 1 } }, { present: false });
const approval = fc.option(
  fc.constantFrom(
    { by: {} },
    { by: {}, when: { arguments: { '/n': { above: 0 } } } },
    { by: {}, when: { scope: 'pay' } },
  ),
  { nil: undefined, freq: 2 },
);
const entry = fc
  .tuple(condition, fc.option(value, { nil: undefined }), approval)
  .map(([own, n, needed]) =>
    Object.assign({}, own, n !== undefined && { arguments: { '/n': n } }, needed && { approval: needed }),
  );
const listings = {
  tools: fc.dictionary(fc.constantFrom('get_x', 'get_*', 'y'), entry, { maxKeys: 3 }),
  prompts: fc.dictionary(fc.constantFrom('p'), entry, { maxKeys: 1 }),
  methods: fc.dictionary(fc.constantFrom('ping', 'm', 'resources/*'), condition, { maxKeys: 2 }),
  mode: fc.constantFrom('enforce' as const, 'shadow' as const),
};
const requests = fc
  .tuple(
    condition,
    fc.dictionary(fc.constantFrom('GET /a', 'GET /a/*', '* /a/*', 'HEAD /a', 'GET /**'), condition, { maxKeys: 3 }),
  )
  .map(([own, listed]): PolicyDocument => Object.assign({}, own, { requests: listed }));
const policy: fc.Arbitrary<PolicyDocument> = fc
  .tuple(condition, fc.record(listings, { requiredKeys: [] }))
  .map(([own, listed]) => Object.assign({}, own, listed));

/** Two policies, of which the second one often is the first one with a part exchanged. */
export const randomEdit: fc.Arbitrary<readonly [PolicyDocument, PolicyDocument]> = fc.oneof(
  fc.tuple(policy, policy),
  fc.tuple(policy, fc.record(listings, { requiredKeys: [] })).map(([one, edit]) => [one, { ...one, ...edit }] as const),
  fc.tuple(policy, condition).map(([one, edit]) => [one, { ...listingsOf(one), ...edit }] as const),
  policy.map((one) => [one, one] as const),
  fc.tuple(requests, requests),
  fc.tuple(fc.oneof(policy, requests), requests),
);

/** A policy without its own conditions: only what its entries want. */
export function listingsOf({
  tools,
  resources,
  prompts,
  methods,
  requests: listed,
  mode,
}: PolicyDocument): PolicyDocument {
  const all = { tools, resources, prompts, methods, requests: listed, mode };
  return Object.fromEntries(Object.entries(all).filter(([, each]) => each !== undefined));
}

/** A policy with its own conditions alone. */
export function withoutListings(policy: PolicyDocument): PolicyDocument {
  const keys = Object.keys(listingsOf(policy));
  return Object.fromEntries(Object.entries(policy).filter(([key]) => !keys.includes(key)));
}

const givens = ['', 'read', 'pay', 'read pay'].flatMap((scope) =>
  [undefined, 'a', 'b', 'c'].flatMap((r) =>
    ['60s', '61s'].map((lifetime) => {
      const claims = r === undefined ? {} : { r };
      return Object.assign({ claims }, scope !== '' && { scope }, { lifetime });
    }),
  ),
);
const named = [{ tool: 'get_x' }, { tool: 'get_y' }, { tool: 'y' }, { tool: 'z' }, { prompt: 'p' }, { prompt: 'q' }];
const others = [
  ...['GET /a', 'GET /a/x', 'HEAD /a', 'HEAD /a/x', 'HEAD /x', 'POST /a/x', 'GET /x', 'PUT /a'].map((request) => ({
    request,
  })),
  { method: 'ping' },
  { method: 'm' },
  { method: 'resources/list' },
  { method: 'resources/x' },
  { method: 'n' },
  { resource: 'a:b' },
  { template: 'a:b' },
  { method: 'completion/complete' },
  { method: 'completion/complete', prompt: 'p' },
  { method: 'completion/complete', prompt: 'q' },
  { method: 'completion/complete', template: 'a:b' },
  { method: 'resources/subscribe', resource: 'a:b' },
  { method: 'logging/setLevel' },
];
const whens = [
  ...others,
  ...named.flatMap((each) =>
    [undefined, 0, 0.5, 1, 'x', null].map((n) => Object.assign({ arguments: n === undefined ? {} : { n } }, each)),
  ),
];

/** Every caller with every call of the grid. */
export const everyExample = givens.flatMap((given) => whens.map((when) => ({ given, when })));
