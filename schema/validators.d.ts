import type { ValidateFunction } from 'ajv';

/** Whether a `gateway.yaml` is as `gateway.schema.json` has it. */
export const gateway: ValidateFunction;
/** Whether a policy is as `policy.schema.json` has it. */
export const policy: ValidateFunction;
/** Whether the lock of a policy is as `policy-lock.schema.json` has it. */
export const policyLock: ValidateFunction;
/** Whether the tests of a policy are as `policy-test.schema.json` has them. */
export const policyTest: ValidateFunction;
