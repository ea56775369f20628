import type { Policy } from '../core/model/policy.ts';
import { compilePolicy as compileWith } from '../core/policy/compile.ts';
import type { PolicyDocument } from '../core/policy/document.ts';
import { languageParts, loaded } from './parts.ts';

const parts = await loaded(languageParts);

/** Compiles a policy in the whole language, as `core/policy/compile.ts` says. @throws {PolicyError} */
export function compilePolicy(name: string, document: PolicyDocument, revision = name): Policy {
  return compileWith(name, document, parts, revision);
}
