/** A JSON document of 300 bytes. */
export const jsonAnswer = padded({ id: 17, name: 'a small document', currency: 'SEK', price: 103.25 }, 300);

/** The answer to `tools/call` as most servers send it: one event. */
export const eventAnswer = `event: message\ndata: ${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: { content: [{ type: 'text', text: 'the price of it is 103.25 SEK' }], isError: false },
})}\n\n`;

/** The number of tools in {@link listAnswer}. The policy of the benchmarks lists half of them. */
export const TOOLS = 50;

/** The answer to `tools/list`. */
export const listAnswer = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: {
    tools: Array.from({ length: TOOLS }, (_, at) => ({
      name: `${at % 2 === 0 ? 'get' : 'drop'}_thing_${at}`,
      description: 'Does something with a thing that is named by its identifier.',
      inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    })),
  },
});

const target = { name: 'get_price', arguments: { symbol: 'ABB', currency: 'SEK', note: 'x'.repeat(68) } };

/** A `tools/call` of 200 bytes, without the members of a modern message. */
export const toolCall = message('tools/call', target);

/** The revision of MCP that {@link modernToolCall} follows. */
const MODERN = '2026-07-28';

/** The same call as a message of {@link MODERN}, as the official SDK sends it. */
export const modernToolCall = message('tools/call', {
  ...target,
  _meta: {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
});

/** The headers that repeat parts of {@link modernToolCall}. */
export const modernHeaders = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': target.name };

const tenMembers = Array.from({ length: 10 }, (_, at) => `member_${at}`);

/** A tool with ten arguments, in the forms that servers have. */
export const tenTool = {
  name: 'get_ten',
  inputSchema: {
    type: 'object',
    properties: Object.fromEntries(
      tenMembers.map((name, at) => [
        name,
        at % 2 === 0 ? { type: 'string', maxLength: 100 } : { type: 'integer', minimum: 0, maximum: 1000 },
      ]),
    ),
    required: tenMembers.slice(0, 5),
  },
};

/** A call of {@link tenTool}. */
export const tenCall = message('tools/call', {
  name: tenTool.name,
  arguments: Object.fromEntries(tenMembers.map((name, at) => [name, at % 2 === 0 ? `text ${at}` : at])),
});

/** A `tools/list`. */
export const toolList = message('tools/list', {});

function message(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
}

function padded(value: object, bytes: number): string {
  const bare = JSON.stringify({ ...value, padding: '' });
  return JSON.stringify({ ...value, padding: 'x'.repeat(bytes - bare.length) });
}
