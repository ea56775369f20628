import type { Entry } from '../../core/policy/entry.ts';
import type { EntryPart } from '../../core/policy/entry-part.ts';
import type { LanguagePart, PartOfCall, PartStep } from '../../core/policy/part.ts';
import { type Approval, compileApproval, explainApproval, joinedApproval, needsApproval } from './approval.ts';
import { approvalsKey, type PlanApprovals, type PolicyApprovals } from './key.ts';

interface EntryApproval extends EntryPart {
  readonly approval: Approval;
}

function approvalIn({ parts }: Pick<Entry, 'parts'>): readonly Approval[] {
  const part = parts.get(approvalsKey) as EntryApproval | undefined;
  return part === undefined ? [] : [part.approval];
}

/** Approvals in the policy language. */
export const approvalsPart: LanguagePart<PolicyApprovals> = {
  key: approvalsKey,
  keys: ['approval'],
  compile(document, context): EntryApproval | undefined {
    const approval = compileApproval(document, context);
    if (approval === undefined) return undefined;
    const { rule, condition, arguments: values, asks } = approval;
    return { approval, rules: [rule], conditions: [condition], bindsArguments: true, values, asks, owners: [] };
  },
  open(listing, isShadow) {
    const approvals = new Map(listing.entries.flatMap(approvalIn).map((each) => [each.rule, each]));
    if (approvals.size === 0) return undefined;
    return {
      openApprovers: [...approvals.values()].filter(({ namesPeople }) => !namesPeople).map(({ byPath }) => byPath),
      at(rules) {
        const found = rules.flatMap((rule) => approvals.get(rule) ?? []);
        return found.length === rules.length ? joinedApproval(found, { isShadow }) : undefined;
      },
    };
  },
  plan(_policy, { entries, isShadow }): PlanApprovals {
    const approvals = entries.flatMap(approvalIn);
    return {
      approvals,
      steps: approvals.map(approvalStep),
      // A person sees all arguments, or the approval is bound to what is not shown.
      argumentsRead: () => (approvals.length > 0 ? [[]] : []),
      needed(principal, attempt) {
        const needed: Approval[] = [];
        let isCertain = false;
        for (const approval of approvals) {
          const needs = needsApproval(approval, principal, attempt);
          if (needs !== false) needed.push(approval);
          if (needs === true) isCertain = true;
        }
        return joinedApproval(needed, { isShadow, isCertain, asker: principal });
      },
      join: (calls) => joinedApprovals(calls, isShadow),
    };
  },
};

/** The approvals of a call and of its inner calls: one person allows all of them, and sees all arguments. */
function joinedApprovals(calls: readonly PartOfCall[], isShadow: boolean): PlanApprovals {
  const parts = calls.map(({ part, attempt, tool }) => ({ ...(part as PlanApprovals), attempt, tool }));
  return {
    approvals: parts.flatMap(({ approvals }) => approvals),
    steps: [],
    argumentsRead: () => [[]],
    needed(principal) {
      const needed = new Map<Approval, string | undefined>();
      let isCertain = false;
      for (const { approvals, attempt, tool } of parts) {
        for (const approval of approvals) {
          const needs = needsApproval(approval, principal, attempt);
          if (needs !== false && !needed.has(approval)) needed.set(approval, tool);
          if (needs === true) isCertain = true;
        }
      }
      const [first] = needed.values();
      const isOuter = [...needed.values()].every((tool) => tool === undefined);
      const joined = joinedApproval([...needed.keys()], { isShadow, isCertain, asker: principal });
      if (joined === undefined || isOuter) return joined;
      // `shows` leads into the arguments of an inner call.
      const denial = first === undefined ? joined.denial : { ...joined.denial, tool: first };
      return { ...joined, shows: undefined, denial };
    },
  };
}

/** It refuses only what cannot be judged. Whether the call has an approval is asked last, by the gate of approvals. */
function approvalStep(approval: Approval): PartStep {
  return {
    on: 'part',
    part: approvalsKey,
    because: approval.because,
    judge(principal, call) {
      needsApproval(approval, principal, call);
      return 'met';
    },
    explain: (principal, call) => [explainApproval(approval, principal, call)],
  };
}
