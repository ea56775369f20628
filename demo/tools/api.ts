import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';

import { errorResult, textResult } from './accounts.ts';

const timeoutMs = 10_000;

/** The tools that call the demo API on behalf of the caller, R-209. */
export function addApiTools(server: McpServer, apiUrl: string): void {
  server.registerTool(
    'get_demo_data',
    { description: 'What the demo API answers to its caller', annotations: { readOnlyHint: true } },
    (context) => callApi(`${apiUrl}/demo/data`, context),
  );
  server.registerTool(
    'get_high_worth_data',
    { description: 'What the demo API answers to a caller with a low risk', annotations: { readOnlyHint: true } },
    (context) => callApi(`${apiUrl}/demo/highworthdata`, context),
  );
}

/**
 * Calls the API with the credential that came with this request. It is not the client's token, which never gets here:
 * the gateway exchanged that for one which is good at the API only (RFC 8693).
 */
async function callApi(url: string, context: ServerContext): Promise<CallToolResult> {
  const authorization = context.http?.req?.headers.get('authorization');
  if (!authorization) return errorResult('No credential for the demo API came with this request');
  const response = await fetch(url, {
    headers: { authorization },
    redirect: 'error',
    signal: AbortSignal.any([context.mcpReq.signal, AbortSignal.timeout(timeoutMs)]),
  });
  if (!response.ok) return errorResult(`The demo API answered ${response.status}`);
  return textResult(await response.json());
}
