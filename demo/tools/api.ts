import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';

import { errorResult, textResult } from './accounts.ts';

const timeoutMs = 10_000;

/** The tools that call the demo API on behalf of the caller, R-209. */
export function addApiTools(server: McpServer, apiUrl: string): void {
  server.registerTool(
    'get_demo_data',
    { description: 'The answer of the demo API to its caller', annotations: { readOnlyHint: true } },
    (context) => callApi(`${apiUrl}/demo/data`, context),
  );
  server.registerTool(
    'get_high_worth_data',
    { description: 'The answer of the demo API to a caller with a low risk', annotations: { readOnlyHint: true } },
    (context) => callApi(`${apiUrl}/demo/highworthdata`, context),
  );
}

/**
 * Calls the API with the credential of this request. It is not the client's token, which never reaches this server: the
 * gateway exchanged that for a token that is valid only for the API (RFC 8693).
 */
async function callApi(url: string, context: ServerContext): Promise<CallToolResult> {
  const authorization = context.http?.req?.headers.get('authorization');
  if (!authorization) return errorResult('This request has no credential for the demo API');
  const response = await fetch(url, {
    headers: { authorization },
    redirect: 'error',
    signal: AbortSignal.any([context.mcpReq.signal, AbortSignal.timeout(timeoutMs)]),
  });
  if (!response.ok) return errorResult(`The demo API answered ${response.status}`);
  return textResult(await response.json());
}
