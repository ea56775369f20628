import type { Policy } from '../core/model/policy.ts';
import { compilePolicy as compileWith } from '../core/policy/compile.ts';
import type { PolicyDocument } from '../core/policy/document.ts';
import type { LanguagePart } from '../core/policy/part.ts';
import { approvalsPart } from './approvals/part.ts';
import { historyPart } from './history/part.ts';
import { innerPart } from './inner/part.ts';

const parts: readonly LanguagePart[] = [innerPart, historyPart, approvalsPart];

/** Compiles a policy in the whole language, as `core/policy/compile.ts` says. @throws {PolicyError} */
export function compilePolicy(name: string, document: PolicyDocument, revision = name): Policy {
  return compileWith(name, document, parts, revision);
}
