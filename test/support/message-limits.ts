/** The defaults of `limits.json_depth` and `limits.json_members`. */
export const messageLimits = { depth: 128, members: 10_000 };
