/** Posts a JSON-RPC request as MCP clients do, with a bearer token unless it is undefined. */
export function postMessage(url: string | URL, { method, params, token, headers }: PostedMessage): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
}

interface PostedMessage {
  readonly method: string;
  readonly params?: object;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The same, for a call of a tool. */
export function postCall(
  url: string | URL,
  name: string,
  args: object,
  more: Omit<PostedMessage, 'method' | 'params'> = {},
): Promise<Response> {
  return postMessage(url, { ...more, method: 'tools/call', params: { name, arguments: args } });
}
