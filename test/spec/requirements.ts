import type { Requirement } from './requirement.ts';
import { specification } from './specification.ts';
import { contract, standards } from './standards.ts';

/** Everything that is claimed. */
export const requirements: readonly Requirement[] = [...specification, ...contract, ...standards];
