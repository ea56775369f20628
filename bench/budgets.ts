/** The budgets of both kinds of request. */
const shared = {
  'src/listen': 3,
  'src/route': 1,
  'src/authenticate': 2,
  'src/limit': 0.5,
  'src/exchange': 0.5,
  'src/forward': 6,
  'src/telemetry': 4,
  'src/pipeline.ts': 2,
  'src/gateway': 1,
  'src/serve/service.ts': 0.5,
  'src/cli': 0.5,
};

/**
 * The largest share of a request's CPU time for each stage, in percent. The total includes the kernel, Node, undici and
 * the garbage collector. Shares are comparable between machines, times are not.
 */
export const budgets: Readonly<Record<'get' | 'post', Readonly<Record<string, number>>>> = {
  get: { ...shared, 'src/authorize': 0.5, 'src/policy': 1, 'src/lib': 1 },
  post: { ...shared, 'src/authorize': 1, 'src/policy': 1.5, 'src/lib': 4, 'src/mcp': 6 },
};
