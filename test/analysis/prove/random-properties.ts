import fc from 'fast-check';
import type { PolicyReason } from '../../../src/core/model/reasons.ts';
import { policyReasons } from '../../../src/analysis/review/policy-reasons.ts';
import type {
  ConditionDocument,
  EntryDocument,
  PolicyDocument,
  PredicateDocument,
} from '../../../src/core/policy/document.ts';
import type { PropertyDocument } from '../../../src/policy-files/property.ts';

/** Random policies and properties over a small grid, so that what one says often concerns the other. */
export interface RandomProperty {
  readonly policy: PolicyDocument;
  readonly property: PropertyDocument;
}

const depth = { maxDepth: 3, depthSize: 'small' } as const;
const scalar = fc.constantFrom<string | number | boolean>('a', 'b', '5', 0, 1, 5, true);
const bound = fc.constantFrom(0, 1, 1.5, 5);
const pattern = fc.constantFrom('^a', 'b$', '^[0-9]+$', '^a?b?$', 'aa|5', '^05', '');

const { value } = fc.letrec<{ value: PredicateDocument }>((tie) => ({
  value: fc.oneof(
    depth,
    scalar.map((equals) => ({ equals })),
    fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }).map((one_of) => ({ one_of })),
    scalar.map((contains) => ({ contains })),
    bound.map((below) => ({ below })),
    bound.map((at_most) => ({ integer: true as const, at_most })),
    bound.map((above) => ({ above })),
    bound.map((at_least) => ({ integer: true as const, at_least })),
    fc.boolean().map((present) => ({ present })),
    fc.constant({ integer: true as const }),
    scalar.map((not) => ({ integer: true as const, not })),
    pattern.map((matches) => ({ matches })),
    fc.tuple(pattern, bound).map(([matches, below]) => ({ integer: true as const, matches, below })),
    tie('value').map((not) => ({ not })),
    fc.tuple(tie('value'), tie('value')).map(([one, not]) => Object.assign({}, one, { not })),
  ),
}));

/** The names of claims that policies read, some inside others, some that every token has. */
const claim = fc.constantFrom(
  'r',
  '/r',
  's',
  '/r/x',
  '/r/0',
  '/r/1',
  '/r/x/y',
  '/r/-',
  'iss',
  'scope',
  'exp',
  'act',
  '/act/sub',
);
const pointer = fc.constantFrom('/n', '/N', '/o', '/o/x', '/o/0', '/o/X');
const scope = fc.constantFrom('read', 'write', 'pay', 'read pay');

const actors = fc.record({ count: value, current: value, each: value }, { requiredKeys: [] });

const { condition } = fc.letrec<{ condition: ConditionDocument }>((tie) => ({
  condition: fc.oneof(
    { ...depth, depthIdentifier: 'condition' },
    fc.record(
      {
        scope,
        claims: fc.dictionary(claim, value, { minKeys: 1, maxKeys: 2 }),
        max_lifetime: fc.constantFrom('60s', '5ms'),
        actors,
      },
      { requiredKeys: [] },
    ),
    fc.dictionary(claim, value, { minKeys: 1, maxKeys: 2 }).map((claims) => ({ claims })),
    fc.array(tie('condition'), { minLength: 1, maxLength: 3 }).map((any) => ({ any })),
    fc.array(tie('condition'), { minLength: 1, maxLength: 2 }).map((all) => ({ all })),
    tie('condition').map((not) => ({ not })),
  ),
}));

const args = fc.dictionary(pointer, value, { minKeys: 1, maxKeys: 2 });
const approvalWhen = fc
  .tuple(condition, fc.option(args, { nil: undefined }))
  .map(([own, found]) => Object.assign({}, own, found && { arguments: found }));
const approval = fc.record({ by: fc.constant({}), when: approvalWhen }, { requiredKeys: ['by'] });
const entry: fc.Arbitrary<EntryDocument> = fc
  .tuple(condition, fc.option(args, { nil: undefined }), fc.option(approval, { nil: undefined, freq: 2 }))
  .map(([own, found, needed]) => Object.assign({}, own, found && { arguments: found }, needed && { approval: needed }));

function listing<Entry>(names: readonly string[], entries: fc.Arbitrary<Entry>): fc.Arbitrary<Record<string, Entry>> {
  return fc.dictionary(fc.constantFrom(...names), entries, { maxKeys: 3 });
}

/** Some that a server which ignores case, or a query, takes for others. */
const toolNames = ['get_x', 'get_*', 'g*', '*', 'Get_*', 'GET_X'];
const resourceNames = ['a:x', 'a:*', 'a:**', 'a:x/**', 'a:X*', 'a:X'];

const requestNames = ['GET /a', 'GET /a/*', 'GET /a/**', '* /a/*', 'POST /**', 'GET /A/**', 'HEAD /a/x', '* /**'];

const ofRequests: fc.Arbitrary<PolicyDocument> = fc
  .tuple(condition, listing(requestNames, condition))
  .map(([own, requests]) => Object.assign({}, own, { requests }));

const ofMessages: fc.Arbitrary<PolicyDocument> = fc
  .tuple(
    condition,
    fc.record(
      {
        tools: listing(toolNames, entry),
        resources: listing(resourceNames, condition),
        prompts: listing(['p', 'p*', 'P*'], entry),
        methods: listing(['ping', 'tools/call', 'tasks/*', 'resources/*', 'x', '*'], condition),
        mode: fc.constantFrom('enforce' as const, 'shadow' as const),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([own, listed]) => withTools({ ...own, ...listed }));

const policy = fc.oneof({ arbitrary: ofMessages, weight: 3 }, { arbitrary: ofRequests, weight: 1 });

/** A policy that lists `tools/call` must list tools. */
function withTools(document: PolicyDocument): PolicyDocument {
  return document.methods?.['tools/call'] === undefined ? document : { tools: {}, ...document };
}

const name = fc.oneof(
  fc.constant('any'),
  fc.constantFrom('get_x', 'get_y', 'zzz', 'a:x', 'p'),
  fc.constantFrom('^g', 'x$', '^get_x?$').map((matches) => ({ matches })),
  fc.constant({ not: ['get_x', 'a:x', 'x'] }),
);
const requestName = fc.oneof(
  fc.constantFrom('any', 'GET /a', 'GET /a/x', 'DELETE /a/x', 'HEAD /a/b'),
  fc.constantFrom('^GET ', '/x$', '^(GET|PUT) /A', '^H', '%', '[A-Z]$', '/$').map((matches) => ({ matches })),
  fc.constant({ not: ['GET /a', 'POST /x'] }),
);
const when: fc.Arbitrary<PropertyDocument['when']> = fc.oneof(
  fc.constant({}),
  requestName.map((request) => ({ request })),
  fc.constant('any' as const),
  name.map((tool) => ({ tool })),
  fc.tuple(name, args).map(([tool, found]) => ({ tool, arguments: found })),
  name.map((resource) => ({ resource })),
  fc.tuple(name, args).map(([prompt, found]) => ({ prompt, arguments: found })),
  fc.oneof(name, fc.constantFrom('ping', 'tools/call', 'tasks/x')).map((method) => ({ method })),
);
const reason = fc.constantFrom<PolicyReason>(
  'scope.insufficient',
  'claim.denied',
  'argument.denied',
  'lifetime.exceeded',
  'alternatives.exhausted',
  'exclusion.matched',
  'tool.unlisted',
  'resource.unlisted',
  'approval.required',
  'request.unlisted',
);
const then: fc.Arbitrary<PropertyDocument['then']> = fc.oneof(
  fc.constantFrom('allow' as const, 'deny' as const),
  reason.map((deny) => ({ deny })),
  fc.uniqueArray(reason, { minLength: 2, maxLength: 6 }).map((deny) => ({ deny })),
);

const ofAnything: fc.Arbitrary<RandomProperty> = fc
  .tuple(policy, condition, fc.constantFrom(undefined, 'none', 'approved'), when, then)
  .map(([own, callers, given, calls, wanted]) =>
    randomOf(own, Object.assign({}, callers, given && { approval: given }), calls, wanted),
  );

// A random policy seldom refuses all described callers for one reason, so that wrong proofs of challenges and of names
// need policies that have little else.

const { ofScopes } = fc.letrec<{ ofScopes: ConditionDocument }>((tie) => ({
  ofScopes: fc.oneof(
    { ...depth, depthIdentifier: 'ofScopes' },
    fc.shuffledSubarray(['read', 'write', 'pay'], { minLength: 1 }).map((scopes) => ({ scope: scopes.join(' ') })),
    fc.array(tie('ofScopes'), { minLength: 1, maxLength: 3 }).map((any) => ({ any })),
    fc.array(tie('ofScopes'), { minLength: 1, maxLength: 2 }).map((all) => ({ all })),
    fc.constantFrom<ConditionDocument>({ claims: { r: 'a' } }, { max_lifetime: '60s' }),
  ),
}));

const scopesOnly = fc
  .shuffledSubarray(['read', 'write', 'pay'], { minLength: 1 })
  .map((scopes) => ({ scope: scopes.join(' ') }));

/** The scopes that a policy names, in its order. */
function scopesIn(document: PolicyDocument): string[] {
  const texts = [...JSON.stringify(document).matchAll(/"scope":"([^"]*)"/g)].map(([, text]) => text ?? '');
  return [...new Set(texts.flatMap((text) => text.split(' ')))];
}

/** The challenge of all of some scopes, and others that differ from it little. */
function challengesNear(scopes: readonly string[]): fc.Arbitrary<string> {
  const near = [scopes, scopes.slice(1), scopes.slice(0, -1), scopes.toReversed(), [...scopes, 'other'], []];
  return fc.constantFrom(...near.map((each) => each.join(' ')));
}

const ofChallenges: fc.Arbitrary<RandomProperty> = fc
  .tuple(
    fc.oneof(scopesOnly, ofScopes),
    fc.record({ tools: listing(['get_x', 'g*'], fc.oneof(scopesOnly, ofScopes)) }, { requiredKeys: [] }),
  )
  .chain(([conditions, listed]) => {
    const own: PolicyDocument = { ...conditions, ...listed };
    const scopes = scopesIn(own);
    return fc
      .tuple(
        fc.constantFrom('read', ...scopes).map((scope) => ({ not: { scope } })),
        fc.constantFrom<PropertyDocument['when']>({}, { tool: 'get_x' }, { tool: 'any' }),
        fc.oneof(reason, fc.constant<readonly PolicyReason[]>(policyReasons)),
        challengesNear(scopes),
      )
      .map(([for_all, calls, deny, challenge]) => randomOf(own, for_all, calls, { deny, challenge }));
  });

/** Entries without conditions: whether a call passes depends on its name alone. */
function bare(names: readonly string[]): fc.Arbitrary<Record<string, object>> {
  return fc
    .shuffledSubarray([...names], { minLength: 1, maxLength: 3 })
    .map((chosen) => Object.fromEntries(chosen.map((each) => [each, {}])));
}

const ofNames: fc.Arbitrary<RandomProperty> = fc
  .tuple(
    fc.oneof(
      fc.tuple(
        bare(toolNames).map((tools) => ({ tools })),
        fc
          .oneof(
            fc.constantFrom('any', 'get_x', 'get_y'),
            fc.constantFrom('^g', '^get_', '_x$').map((matches) => ({ matches })),
          )
          .map((tool) => ({ tool })),
      ),
      fc.tuple(
        bare(resourceNames).map((resources) => ({ resources })),
        fc
          .oneof(
            fc.constantFrom('any', 'a:x', 'a:xy', 'a:x?q'),
            fc.constantFrom('^a:', '^a:x', '^a:[a-z]+$').map((matches) => ({ matches })),
          )
          .map((resource) => ({ resource })),
      ),
      fc.tuple(
        bare(requestNames).map((requests) => ({ requests })),
        requestName.map((request) => ({ request })),
      ),
    ),
    fc.constantFrom<PropertyDocument['then']>('allow', 'deny'),
  )
  .map(([[own, calls], wanted]) => randomOf(own, {}, calls, wanted));

/** A random policy, and a random property of it. */
export const randomProperty: fc.Arbitrary<RandomProperty> = fc.oneof(
  { arbitrary: ofAnything, weight: 2 },
  { arbitrary: ofChallenges, weight: 1 },
  { arbitrary: ofNames, weight: 1 },
);

function randomOf(
  policy: PolicyDocument,
  for_all: PropertyDocument['for_all'],
  calls: PropertyDocument['when'],
  wanted: PropertyDocument['then'],
): RandomProperty {
  // oxlint-disable-next-line unicorn/no-thenable -- a property has it
  return { policy, property: { name: 'random', for_all, when: calls, then: wanted } };
}
