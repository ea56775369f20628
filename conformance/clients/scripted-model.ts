import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen, type Running } from '../../demo/listen.ts';

/** A model that calls one tool and then stops, for clients that call tools only if a model asks for it. */
export interface ScriptedModel extends Running {
  /** The tool that it calls in the next conversation, without the prefix that the client gives it. */
  call: { readonly name: string; readonly input: object };
}

interface ModelRequest {
  readonly tools?: readonly { readonly name: string }[];
}

/** Starts it on loopback. It speaks the interface of Anthropic. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const server = createServer((request, response) => void answer(request, response));
  const model: ScriptedModel = { ...(await listen(server, 0)), call: { name: '', input: {} } };
  return model;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const { pathname } = new URL(request.url ?? '/', model.url);
    if (pathname !== '/v1/messages') return void response.writeHead(404).end();
    const { tools = [] } = JSON.parse(body) as ModelRequest;
    const called = tools.find(({ name }) => name === model.call.name || name.endsWith(`_${model.call.name}`));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    // After the tool's answer, and in side conversations without tools, it has nothing to add.
    const isDone = body.includes('"type":"tool_result"') || called === undefined;
    for (const event of isDone ? done : calling(called.name, model.call.input)) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  }
}

const done = message({ type: 'text', text: '' }, { type: 'text_delta', text: 'done' }, 'end_turn');

function calling(name: string, input: object): readonly ModelEvent[] {
  const block = { type: 'tool_use', id: 'toolu_1', name, input: {} };
  return message(block, { type: 'input_json_delta', partial_json: JSON.stringify(input) }, 'tool_use');
}

interface ModelEvent {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** An answer with one block. */
function message(content_block: object, delta: object, stop_reason: string): readonly ModelEvent[] {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const opening = { id: 'msg_1', type: 'message', role: 'assistant', model: 'scripted', content: [], usage };
  return [
    { type: 'message_start', message: opening },
    { type: 'content_block_start', index: 0, content_block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason }, usage },
    { type: 'message_stop' },
  ];
}
