import gateway from '../../../schema/gateway.schema.json' with { type: 'json' };
import policy from '../../../schema/policy.schema.json' with { type: 'json' };
import policyLock from '../../../schema/policy-lock.schema.json' with { type: 'json' };
import policyTest from '../../../schema/policy-test.schema.json' with { type: 'json' };

/** The JSON Schemas, by the language that they describe. */
export const schemas = { gateway, policy, 'policy-test': policyTest, 'policy-lock': policyLock } as const;
