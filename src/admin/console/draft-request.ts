import type { IncomingMessage } from 'node:http';
import { isObject } from '../../lib/json/own-member.ts';
import { parsedJson } from '../../lib/json/parsed.ts';
import { describedKinds } from '../../model/mcp.ts';
import type { DraftQuestion, DraftRequest } from './messages.ts';

/** The limit on the body of a request, in bytes. Policies are a few KiB. */
const MAX_BYTES = 512 * 1024;

/** Why a body is no draft, with the status of the answer. */
export class BodyFault extends Error {
  override readonly name = 'BodyFault';
  readonly status: 400 | 413;

  constructor(status: 400 | 413, message: string) {
    super(message);
    this.status = status;
  }
}

/** Reads the draft in a request. @throws {BodyFault} */
export async function draftIn(request: IncomingMessage): Promise<DraftRequest> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BYTES) throw new BodyFault(413, `A draft has at most ${MAX_BYTES} bytes.\n`);
    chunks.push(chunk);
  }
  const body = parsedJson(Buffer.concat(chunks).toString());
  if (!isObject(body)) throw new BodyFault(400, 'The body is not a JSON object.\n');
  const { policy, text, route, question, isThorough } = body;
  if (typeof policy !== 'string' || typeof text !== 'string') {
    throw new BodyFault(400, 'A draft has the members "policy" and "text".\n');
  }
  return {
    policy,
    text,
    route: typeof route === 'string' ? route : undefined,
    question: isObject(question) ? questionIn(question) : undefined,
    isThorough: isThorough === true,
  };
}

function questionIn(question: Readonly<Record<string, unknown>>): DraftQuestion {
  const textOf = (name: string): string => {
    const value = question[name];
    return typeof value === 'string' ? value : '';
  };
  return {
    claims: textOf('claims'),
    scope: textOf('scope'),
    lifetime: textOf('lifetime'),
    kind: [...describedKinds, 'method' as const].find((kind) => kind === question['kind']) ?? 'tool',
    name: textOf('name'),
    arguments: textOf('arguments'),
    history: textOf('history'),
  };
}
