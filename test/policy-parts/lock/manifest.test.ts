import { expect, test } from 'vitest';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { lock } from '../../../src/policy-parts/lock/manifest.ts';

test.for<[PolicyDocument, readonly string[]]>([
  [{ lock: 'deny' }, []],
  [{ lock: 'deny', mode: 'enforce', calls: 'strict' }, []],
  [{ lock: 'report', mode: 'shadow' }, []],
  [{ lock: 'deny', mode: 'shadow' }, ['lock: deny contradicts mode: shadow, which refuses nothing; write report']],
  [{ calls: 'strict' }, ['calls: needs lock: deny: calls are judged by the schemas that were approved']],
  [
    { lock: 'report', calls: 'strict' },
    ['calls: needs lock: deny: calls are judged by the schemas that were approved'],
  ],
  [
    { lock: 'report', requests: {} },
    ['requests: cannot be combined with lock, which is for MCP routes: requests are those of HTTP routes'],
  ],
])('%j: %j', ([document, faults]) => {
  expect(lock.faultsIn?.(document).map(({ path, message }) => `${path.join('.')}: ${message}`)).toEqual(faults);
});
