import { comparePolicies } from '../../analysis/compare/compare.ts';
import type { Files } from '../../core/config/files.ts';
import { readPolicies } from '../../policy-files/policies.ts';
import { historyIn, type PolicyTest, readPolicyTests } from '../../policy-files/policy-tests.ts';
import type { Problem } from '../../core/config/problems.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import { outcomeKind } from '../../core/model/outcome-kind.ts';
import { actorFlaw } from '../../ports/actors.ts';
import { refusalOf } from '../../core/model/reasons.ts';
import { isPolicyReason } from '../../analysis/review/policy-reasons.ts';
import { unknownArguments, type Attempt, type Policy } from '../../core/model/policy.ts';
import type { Route } from '../../core/model/route.ts';
import { requestFlaw } from '../../core/policy/requests.ts';
import { gapsOf } from '../../analysis/review/coverage.ts';
import { countDifference, type CountedDifference, differenceOf } from '../../analysis/review/replay.ts';
import { explainCall, remediesIn } from '../../analysis/review/explained.ts';
import { isPolicyDecision } from '../../analysis/review/recorded-decision.ts';
import { flowYaml } from '../../analysis/review/flow-yaml.ts';
import { decidingBy, runProperties, runTests, type TestResult } from '../../analysis/review/run-tests.ts';
import { attemptOf, callerOf } from '../../analysis/review/described-caller.ts';
import type { CountedDecision } from './recent-decisions.ts';
import type {
  DraftAnswer,
  DraftMeaning,
  DraftProblem,
  DraftQuestion,
  DraftReplay,
  DraftTests,
  QuestionAnswer,
} from './messages.ts';

/** A draft of a policy, and everything that it is tried with. It crosses to another process: plain values only. */
export interface DraftTask {
  readonly policy: string;
  readonly text: string;
  /** The text in force. */
  readonly inForce: string;
  /** The text of the policy's tests; undefined without a file. */
  readonly tests: string | undefined;
  readonly scopeHierarchy: ReadonlyMap<string, readonly string[]>;
  /** The issuer of described callers that name none. */
  readonly issuer: string;
  /** The route whose call is asked about. */
  readonly route: Pick<Route, 'name' | 'protocol'> | undefined;
  readonly question: DraftQuestion | undefined;
  /** The kept decisions of the policy; undefined: neither decide them again, nor prove properties, nor compare. */
  readonly decisions: readonly CountedDecision[] | undefined;
}

/** The folder of drafts in messages: nothing is read from it. */
const FOLDER = 'policies';

/** Compiles a draft by the code that serves, and tries it. */
export async function tryDraft(task: DraftTask): Promise<DraftAnswer> {
  const { problems, policy } = await compiled(task.policy, task.text);
  if (policy === undefined) return { problems: problems.map(asProblem) };
  const { question, decisions } = task;
  const draft = {
    problems: [],
    ...(await testsOf(policy, task)),
    ...(question !== undefined && { answer: answerTo(question, policy, task) }),
  };
  if (decisions === undefined) return draft;
  const { policy: inForce } = await compiled(task.policy, task.inForce);
  return {
    ...draft,
    ...(inForce !== undefined && { meaning: meaningOf(inForce, policy, task) }),
    replay: replayOf(decisions, inForce, policy, task),
  };
}

async function compiled(
  name: string,
  text: string,
): Promise<{ readonly policy: Policy | undefined; readonly problems: readonly Problem[] }> {
  const { policies, problems } = await readPolicies(FOLDER, FOLDER, oneFile(`${name}.yaml`, text), []);
  return { policy: policies.get(name), problems };
}

function oneFile(name: string, text: string): Files {
  return { names: async () => [name], text: async () => ({ text }), at: 0 };
}

function asProblem({ line = 1, column = 1, path, message }: Problem): DraftProblem {
  return { line, column, message: path === '' ? message : `${path}: ${message}` };
}

async function testsOf(policy: Policy, task: DraftTask): Promise<Pick<DraftAnswer, 'tests' | 'properties'>> {
  const { tests: text, scopeHierarchy, issuer, decisions } = task;
  if (text === undefined) return { tests: { results: [], problems: [], gaps: gapsOf(policy, []) }, properties: [] };
  const files = oneFile(`${policy.name}.test.yaml`, text);
  const { files: read, problems } = await readPolicyTests(FOLDER, FOLDER, new Map([[policy.name, policy]]), files);
  const by = { policies: new Map([[policy.name, policy]]), scopeHierarchy, defaultIssuer: issuer };
  const ran = read.flatMap((file) => runTests(file, by));
  const gaps = gapsOf(
    policy,
    ran.flatMap(({ decided }) => decided ?? []),
  );
  return {
    tests: { results: ran.map(asResult), problems: problems.map(asProblem), gaps },
    ...(decisions !== undefined && {
      properties: read.flatMap((file) => runProperties(file, by)).map(asResult),
    }),
  };
}

function asResult({ name, line, fault }: TestResult): DraftTests['results'][number] {
  return { name, line, fault };
}

function answerTo(question: DraftQuestion, policy: Policy, task: DraftTask): QuestionAnswer {
  const { route, scopeHierarchy, issuer } = task;
  const claims = objectIn(question.claims);
  const input = question.arguments.trim() === '' ? unknownArguments : objectIn(question.arguments);
  if (claims === undefined) return { fault: 'claims: this is not a JSON object such as {"role":"trader"}' };
  const actors = actorFlaw(claims);
  if (actors !== undefined) return { fault: `claims: ${actors}` };
  if (input === undefined) return { fault: 'arguments: this is not a JSON object such as {"amount":10}' };
  const { history, problems } = historyIn('history', question.history);
  if (problems[0] !== undefined) return { fault: String(problems[0]) };
  const given: PolicyTest['given'] = {
    claims,
    scope: question.scope.split(/\s+/).filter((each) => each !== ''),
    ...(/^\d+$/.test(question.lifetime) && { lifetime: `${question.lifetime}s` }),
  };
  const called = question.name.trim();
  const flaw = policy.listsRequests ? requestFlaw(called, 'requests') : undefined;
  if (flaw !== undefined) return { fault: `request: ${JSON.stringify(called)} ${flaw}` };
  const http: Attempt = policy.listsRequests ? { kind: 'http', request: called } : { kind: 'http' };
  const attempt = route?.protocol === 'mcp' ? attemptOf({ [question.kind]: called }) : http;
  const explained = explainCall(
    { name: route?.name ?? '', policy },
    callerOf(given, scopeHierarchy, issuer),
    attempt.kind === 'mcp' ? { ...attempt, arguments: input } : attempt,
    question.history.trim() === '' ? undefined : history,
  );
  const { allow, unknown, shadow, reason, detail, rule, neededScope, notes, conditions } = explained;
  const refusal = reason !== undefined && isPolicyReason(reason) ? refusalOf(reason) : undefined;
  const kind = outcomeKind({ allow, refusal, shadow: shadow || undefined });
  const remedies = kind === 'allowed' ? [] : remediesIn(conditions);
  return { kind, allow, unknown, shadow, reason, detail, rule, neededScope, notes, conditions, remedies };
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === '') return {};
  const value = parsedJson(text);
  return isObject(value) ? value : undefined;
}

function meaningOf(inForce: Policy, draft: Policy, { scopeHierarchy, issuer }: DraftTask): DraftMeaning {
  const { differences, undecided } = comparePolicies(
    inForce,
    draft,
    decidingBy({ scopeHierarchy, defaultIssuer: issuer }),
  );
  return {
    differences: differences.map(({ kind, rule, was, now, witness }) => ({
      kind,
      rule,
      was,
      now,
      witness: witness === undefined ? [] : [`given: ${flowYaml(witness.given)}`, `when: ${flowYaml(witness.when)}`],
    })),
    undecided,
  };
}

function replayOf(
  decisions: readonly CountedDecision[],
  inForce: Policy | undefined,
  draft: Policy,
  task: DraftTask,
): DraftReplay {
  const changes = new Map<string, CountedDifference>();
  let decided = 0;
  for (const { decision, count } of decisions) {
    if (!isPolicyDecision(decision)) continue;
    decided += count;
    const protocol = /^[A-Z]+$/.test(decision.method ?? '') && decision.tool === undefined ? 'http' : 'mcp';
    const route = { protocol: task.route?.protocol ?? protocol, policy: inForce } as const;
    const difference = differenceOf(decision, route, draft, task);
    if (difference !== undefined) countDifference(changes, difference, count);
  }
  return { decided, changes: [...changes.values()].toSorted((one, other) => other.count - one.count) };
}
