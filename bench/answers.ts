/** A JSON document of 300 bytes. */
export const jsonAnswer = padded({ id: 17, name: 'a small document', currency: 'SEK', price: 103.25 }, 300);

/** The answer to `tools/call` as most servers send it: one event. */
export const eventAnswer = `event: message\ndata: ${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: { content: [{ type: 'text', text: 'the price of it is 103.25 SEK' }], isError: false },
})}\n\n`;

/** The answer to `tools/list`: twenty tools. The policy of the benchmarks lists half of them. */
export const listAnswer = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  result: {
    tools: Array.from({ length: 20 }, (_, at) => ({
      name: `${at % 2 === 0 ? 'get' : 'drop'}_thing_${at}`,
      description: 'Does something with a thing that is named by its identifier.',
      inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    })),
  },
});

/** A `tools/call` of 200 bytes. */
export const toolCall = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'get_price', arguments: { symbol: 'ABB', currency: 'SEK', note: 'x'.repeat(68) } },
});

/** A `tools/list`. */
export const toolList = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} });

function padded(value: object, bytes: number): string {
  const bare = JSON.stringify({ ...value, padding: '' });
  return JSON.stringify({ ...value, padding: 'x'.repeat(bytes - bare.length) });
}
