import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen, type Running } from '../../demo/listen.ts';

/** A model that calls one tool and then stops, for clients that call tools only if a model asks for it. */
export interface ScriptedModel extends Running {
  /** The tool that it calls in the next conversation, without the prefix that the client gives it. */
  call: { readonly name: string; readonly input: object };
}

/** A function that a client offers to the model. */
type Offered = { readonly name: string } | { readonly function: { readonly name: string } };

interface ModelRequest {
  readonly stream?: boolean;
  readonly tools?: readonly (Offered & { readonly functionDeclarations?: readonly Offered[] })[];
}

/** Starts it on loopback. It speaks the interfaces of Anthropic, of OpenAI (chat completions) and of Google. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const server = createServer((request, response) => void answer(request, response));
  const model: ScriptedModel = { ...(await listen(server, 0)), call: { name: '', input: {} } };
  return model;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { pathname } = new URL(request.url ?? '/', model.url);
    const dialect = dialects.find(({ path }) => path.test(pathname));
    if (dialect === undefined) return void response.writeHead(404).end();
    const asked = JSON.parse(body === '' ? '{}' : body) as ModelRequest;
    const offered = (asked.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? [tool]);
    const names = offered.map((tool) => ('function' in tool ? tool.function.name : tool.name));
    const name = names.find((each) => each === model.call.name || each.endsWith(`_${model.call.name}`));
    // After the tool's answer, and in side conversations without tools, it has nothing to add.
    const isDone = dialect.hasResult.test(body) || name === undefined;
    const events = isDone ? dialect.text('done') : dialect.tool(name, model.call.input);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events) {
      const type = (event as { readonly type?: string }).type;
      response.write(`${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`);
    }
    response.end(dialect.end);
  }
}

interface Dialect {
  readonly path: RegExp;
  /** What a request contains once the tool has answered. */
  readonly hasResult: RegExp;
  text(text: string): readonly object[];
  tool(name: string, input: object): readonly object[];
  readonly end?: string;
}

const dialects: readonly Dialect[] = [
  {
    path: /^\/v1\/messages$/,
    hasResult: /"type":"tool_result"/,
    text: (text) => anthropic({ type: 'text', text: '' }, { type: 'text_delta', text }, 'end_turn'),
    tool: (name, input) =>
      anthropic(
        { type: 'tool_use', id: 'toolu_1', name, input: {} },
        { type: 'input_json_delta', partial_json: JSON.stringify(input) },
        'tool_use',
      ),
  },
  {
    path: /\/chat\/completions$/,
    hasResult: /"role":"tool"/,
    text: (content) => openai({ role: 'assistant', content }, 'stop'),
    tool: (name, input) =>
      openai(
        {
          role: 'assistant',
          tool_calls: [
            { index: 0, id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(input) } },
          ],
        },
        'tool_calls',
      ),
    end: 'data: [DONE]\n\n',
  },
  {
    path: /:(?:streamG|g)enerateContent$/,
    hasResult: /"functionResponse"/,
    text: (text) => google({ text }),
    tool: (name, args) => google({ functionCall: { name, args } }),
  },
];

function anthropic(content_block: object, delta: object, stop_reason: string): readonly object[] {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'scripted', content: [], usage };
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason }, usage },
    { type: 'message_stop' },
  ];
}

function openai(delta: object, finish_reason: string): readonly object[] {
  const chunk = { id: 'chat_1', object: 'chat.completion.chunk', created: 1, model: 'scripted' };
  return [
    { ...chunk, choices: [{ index: 0, delta }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] },
  ];
}

function google(part: object): readonly object[] {
  return [{ candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }] }];
}
