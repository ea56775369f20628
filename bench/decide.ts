/**
 * The time of one decision of a policy, by its number of entries: the three scenarios of "Cedar: A New Language for
 * Expressive, Fast, Safe, and Analyzable Authorization" (OOPSLA 2024), written as policies of the gateway.
 *
 *     npm run bench:decide
 *
 * @module
 */
import { markdownTable } from './table.ts';
import { mcpMethod } from '../src/core/model/mcp.ts';
import type { TargetKind } from '../src/core/model/mcp-method.ts';
import type { Attempt, Policy } from '../src/core/model/policy.ts';
import type { Principal } from '../src/core/model/principal.ts';
import { compilePolicy } from '../src/policy-parts/compile.ts';
import type { ConditionDocument } from '../src/core/policy/document.ts';

/** A scenario: the entry of each index, and a caller whom it allows, or does not. */
interface Application {
  readonly name: string;
  readonly target: TargetKind;
  readonly entry: (index: number) => readonly [name: string, ConditionDocument];
  readonly claims: (index: number, isAllowed: boolean) => Readonly<Record<string, unknown>>;
}

const SIZES = [10, 100, 1_000, 10_000];
const CALLS = 1_000;
const ROUNDS = 15;

const applications: readonly Application[] = [
  {
    // A document is read by its owner, by a group that it is shared with, and by every caller if it is public.
    name: 'gdrive',
    target: 'resource',
    entry: (index) => [
      `document://${index}`,
      index % 10 === 0
        ? {}
        : { any: [{ claims: { user: `owner${index}` } }, { claims: { groups: { contains: `readers${index}` } } }] },
    ],
    claims: (index, isAllowed) => ({ user: 'alice', groups: ['staff', isAllowed ? `readers${index}` : 'readers'] }),
  },
  {
    // A repository is written by its writers, maintainers and administrators, but not while it is archived.
    name: 'github',
    target: 'tool',
    entry: (index) => [
      `repository${index}/push`,
      {
        any: ['writers', 'maintainers', 'administrators'].map((role) => ({
          claims: { [`/teams/${role}`]: { contains: `repository${index}` } },
        })),
        not: { claims: { archived: { contains: `repository${index}` } } },
      },
    ],
    claims: (index, isAllowed) => ({
      archived: [],
      teams: { writers: [], maintainers: [isAllowed ? `repository${index}` : ''], administrators: [] },
    }),
  },
  {
    // A list is changed by its owner and its editors; a token for it needs the scope as well.
    name: 'tinytodo',
    target: 'tool',
    entry: (index) => [
      `list${index}/update`,
      {
        scope: 'lists',
        any: [{ claims: { owns: `list${index}` } }, { claims: { edits: { contains: `list${index}` } } }],
      },
    ],
    claims: (index, isAllowed) => ({ owns: 'another', edits: ['another', isAllowed ? `list${index}` : ''] }),
  },
  // The same condition with a constant, and with another claim of the caller.
  ...(['constant', 'compared'] as const).map((name): Application => ({
    name,
    target: 'tool',
    entry: (index) => [
      `records${index}/read`,
      { claims: { organization: name === 'constant' ? 'acme' : { claim: 'tenant' } } },
    ],
    claims: (_index, isAllowed) => ({ tenant: 'acme', organization: isAllowed ? 'acme' : 'globex' }),
  })),
];

function caller(claims: Readonly<Record<string, unknown>>): Principal {
  const issuer = 'https://as.example';
  return {
    issuer,
    subject: 'alice',
    clientId: 'agent',
    callerKey: 'alice',
    grantedScopes: ['lists'],
    scopes: new Set(['lists']),
    audience: ['https://api.example'],
    expiresAt: 2_000_000_000,
    issuedAt: 1_999_999_000,
    form: 'jwt',
    confirmation: undefined,
    introspectionJwt: undefined,
    claims,
  };
}

/** One attempt at each of 1,000 entries, spread over the policy. */
function calls({ target, entry, claims }: Application, size: number, isAllowed: boolean) {
  const method = mcpMethod(target === 'tool' ? 'tools/call' : 'resources/read');
  return Array.from({ length: CALLS }, (_, at) => {
    // Every tenth document is public.
    const index = ((at * 7) % (size / 10)) * 10 + 1 + (at % 9);
    const attempt: Attempt = { kind: 'mcp', method, targets: [{ kind: target, name: entry(index)[0] }], arguments: {} };
    return { principal: caller(claims(index, isAllowed)), attempt };
  });
}

/** The least CPU nanoseconds of a decision in all rounds: what disturbs a round only adds to it. */
function decided(policy: Policy, asked: ReturnType<typeof calls>, isAllowed: boolean): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const start = process.threadCpuUsage().user;
    for (let times = 0; times < 20; times += 1) {
      for (const { principal, attempt } of asked) {
        if (policy.decide(principal, attempt).allow !== isAllowed) throw new Error(`decided ${!isAllowed}`);
      }
    }
    return ((process.threadCpuUsage().user - start) * 1_000) / (20 * asked.length);
  });
  return Math.min(...rounds);
}

const lines = applications.flatMap((application) =>
  [true, false].map((isAllowed) => {
    const times = SIZES.map((size) => {
      const entries = Object.fromEntries(Array.from({ length: size }, (_, index) => application.entry(index)));
      const policy = compilePolicy(application.name, { [`${application.target}s`]: entries });
      return [`${size} entries`, decided(policy, calls(application, size, isAllowed), isAllowed).toFixed(0)] as const;
    });
    return { subject: `${application.name}, ${isAllowed ? 'allowed' : 'denied'}`, cells: Object.fromEntries(times) };
  }),
);
console.log(markdownTable(lines));
