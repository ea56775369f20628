import { decidingBy } from '../../../src/analysis/review/run-tests.ts';
import type { Policy } from '../../../src/core/model/policy.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { PolicyDocument, PolicyFault } from '../../../src/core/policy/document.ts';
import { closeHierarchy } from '../../../src/ports/scope-hierarchy.ts';
import { compileProperty, type Property, type PropertyDocument } from '../../../src/policy-files/property.ts';
import { type Deciding, type Proof, prove } from '../../../src/analysis/prove/prove.ts';

/** The code that serves, with a hierarchy of scopes. */
export function deciding(scopes: Readonly<Record<string, readonly string[]>> = {}): Deciding {
  return decidingBy({ scopeHierarchy: closeHierarchy(scopes), defaultIssuer: 'https://as.example' });
}

/** A property without its name, and what is to be proved of it. */
export function compiled(document: Omit<PropertyDocument, 'name'>): Property {
  const faults: PolicyFault[] = [];
  const property = compileProperty({ name: 'property', ...document }, [], faults);
  if (faults.length > 0) throw new TypeError(JSON.stringify(faults));
  return property;
}

/** Many times what any proof of these tests takes, and few enough that a search without end soon fails. */
export const MAX_STEPS = 100_000;

export function proofOf(
  document: PolicyDocument,
  property: Omit<PropertyDocument, 'name'>,
  scopes?: Readonly<Record<string, readonly string[]>>,
): Proof {
  return prove(compiled(property), policyOf(document), deciding(scopes), MAX_STEPS);
}

export function policyOf(document: PolicyDocument): Policy {
  return compilePolicy('test', document);
}
