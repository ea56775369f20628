import { calledTool, type Explanation } from '../../core/model/policy.ts';
import type { Entry } from '../../core/policy/entry.ts';
import type { EntryPart } from '../../core/policy/entry-part.ts';
import type { LanguagePart, PartStep } from '../../core/policy/part.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import { compileWrapper, InnerCallReader, type Wrapper } from './inner-calls.ts';
import { JoinedPlan } from './joined-plan.ts';
import { innerKey, type PlanInner, type PolicyInner } from './key.ts';

interface EntryInner extends EntryPart {
  readonly wrapper: Wrapper;
}

function wrapperIn({ parts }: Pick<Entry, 'parts'>): Wrapper | undefined {
  return (parts.get(innerKey) as EntryInner | undefined)?.wrapper;
}

/** Tools that call other tools, in the policy language. */
export const innerPart: LanguagePart<PolicyInner> = {
  key: innerKey,
  keys: ['inner'],
  compile({ inner }, context): EntryInner | undefined {
    if (inner === undefined) return undefined;
    const wrapper = compileWrapper(inner, context);
    const nothing = { conditions: [], values: [], asks: [], owners: [] } as const;
    return { wrapper, rules: [wrapper.rule], bindsArguments: true, ...nothing };
  },
  open(listing) {
    if (!listing.entries.some((entry) => wrapperIn(entry) !== undefined)) return undefined;
    const wrapperOf = (tool: string): Wrapper | undefined => {
      const entry = listing.tool?.(tool);
      return entry && wrapperIn(entry);
    };
    return { reader: new InnerCallReader(wrapperOf), wrapperOf };
  },
  plan({ reader }, { entries }): PlanInner {
    const wrapper = entries.map(wrapperIn).find((each) => each !== undefined);
    return {
      wrapper,
      steps: wrapper === undefined ? [] : [wrapperStep(wrapper, reader)],
      // Conditions on inner calls read anything in them.
      argumentsRead: () => (wrapper === undefined ? [] : [[]]),
    };
  },
  inner: {
    calls: ({ reader }, attempt) => reader.callsOf(attempt),
    isIn: ({ wrapperOf }, tool) => wrapperOf(tool) !== undefined,
    plan({ reader }, attempt, planOf) {
      const calls = reader.callsOf(attempt);
      const plan = planOf(attempt);
      if (calls.length === 0) return plan;
      const inner = calls.map((call) => ({ plan: planOf(call), attempt: call, tool: calledTool(call) ?? '' }));
      return new JoinedPlan({ plan, attempt, tool: undefined }, inner);
    },
  },
};

/** It refuses a call whose inner calls cannot be read. */
function wrapperStep(wrapper: Wrapper, reader: InnerCallReader): PartStep {
  return {
    on: 'part',
    part: innerKey,
    because: wrapper.because,
    judge: (_principal, call) => reader.denialOf(call) ?? 'met',
    explain: (_principal, call) => [explained(wrapper, reader, call)],
  };
}

function explained(
  { rule, wanted, name }: Wrapper,
  reader: InnerCallReader,
  call: Parameters<InnerCallReader['callsOf']>[0],
): Explanation {
  const base = { rule, kind: 'inner', reads: name.pointer, wanted, parts: [] } as const;
  const names = reader.callsOf(call).flatMap((each) => describeValue(calledTool(each)));
  try {
    const denial = reader.denialOf(call);
    if (denial !== undefined) return { ...base, outcome: 'fails', found: denial.detail };
    if (names.length === 0) return { ...base, outcome: 'unknown', found: 'unknown' };
    return { ...base, outcome: 'holds', found: `calls of ${names.join(', ')}` };
  } catch {
    return { ...base, outcome: 'error', found: 'arguments that cannot be read' };
  }
}
