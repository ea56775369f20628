import { hash } from 'node:crypto';
import { canonicalJson } from '../lib/json/canonical.ts';
import { hasDigits } from '../lib/json/lossless.ts';
import { unreachable } from '../lib/json/pointer.ts';
import type { RecordDetails } from './outcome.ts';
import { type Attempt, calledTool } from './policy.ts';

interface Recorded {
  readonly attempt: Attempt | undefined;
  readonly details?: RecordDetails | undefined;
}

/** The longest recorded text of an argument, in UTF-16 code units. */
const MAX_TEXT = 256;

/** SHA-256 in base64url of the canonical form of the arguments, as approvals bind it; absent ones are `{}`. */
export function argumentsDigest({ attempt, details }: Recorded): string | undefined {
  if (details?.arguments?.digest !== true || calledTool(attempt) === undefined) return undefined;
  return hash('sha256', canonicalJson(exactArguments(attempt) ?? {}), 'base64url');
}

/** The listed arguments that are scalars. A text is cut; a number keeps its digits. */
export function shownArguments({ attempt, details }: Recorded): Readonly<Record<string, unknown>> | undefined {
  const show = details?.arguments?.show ?? [];
  if (show.length === 0 || calledTool(attempt) === undefined) return undefined;
  const given = exactArguments(attempt);
  const shown: (readonly [string, unknown])[] = [];
  for (const { pointer, read } of show) {
    const value = read(given);
    if (isScalar(value)) shown.push([pointer, typeof value === 'string' ? value.slice(0, MAX_TEXT) : value]);
  }
  return shown.length === 0 ? undefined : Object.fromEntries(shown);
}

function exactArguments(attempt: Attempt | undefined): unknown {
  return attempt?.kind === 'mcp' ? (attempt.exactArguments?.() ?? attempt.arguments) : undefined;
}

function isScalar(value: unknown): boolean {
  if (value === undefined || value === unreachable) return false;
  return value === null || typeof value !== 'object' || hasDigits(value);
}
