import { changedJson } from './json.ts';
import type { Random } from './random.ts';
import * as words from './request-words.ts';

/** The parts of an HTTP/1.1 request, as far as the bytes have them. */
interface Parts {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly lines: readonly string[];
  readonly body: string;
}

type Change = (parts: Parts, random: Random) => Parts;

const changes: readonly Change[] = [
  (parts, random) => ({ ...parts, method: random.pick(words.methods) }),
  (parts, random) => ({ ...parts, version: random.chance(0.8) ? 'HTTP/1.1' : random.pick(words.versions) }),
  (parts, random) => ({ ...parts, target: random.pick(random.chance(0.9) ? words.paths : words.metadata) }),
  (parts, random) => ({ ...parts, target: random.pick(words.paths) + random.pick(words.pieces) }),
  (parts, random) => ({ ...parts, target: put(parts.target, random.pick(words.pieces), random) }),
  (parts, random) =>
    withLine(parts, `Authorization: ${random.pick(words.schemes)}${random.pick(words.tokens)}`, random),
  (parts) => replaced(parts, `Authorization: Bearer {{alice}}`),
  (parts) => replaced(parts, `Authorization: Bearer {{bob}}`),
  (parts, random) => replaced(parts, `Host: ${random.pick(words.hosts)}`),
  (parts, random) => withLine(parts, `Transfer-Encoding: ${random.pick(words.codings)}`, random),
  (parts, random) => withLine(parts, `Content-Length: ${random.pick(words.lengths)}`, random),
  (parts, random) => withLine(parts, `Connection: ${random.pick(words.connections)}`, random),
  (parts, random) => replaced(parts, `Content-Type: ${random.pick(words.types)}`),
  (parts, random) => withLine(parts, `${random.pick(words.claimed)}: ${random.pick(words.values)}`, random),
  (parts, random) => withLine(parts, `MCP-Protocol-Version: ${random.pick(words.versionsOfMcp)}`, random),
  (parts, random) => withLine(parts, `Mcp-Name: ${random.pick(words.names)}`, random),
  (parts) => withHeadersOf(parts),
  (parts, random) => ({ ...parts, lines: parts.lines.filter(() => random.chance(0.8)) }),
  (parts, random) => ({
    ...parts,
    lines: parts.lines.flatMap((line) => (random.chance(0.15) ? [line, line] : [line])),
  }),
  (parts, random) => ({
    ...parts,
    lines: parts.lines.map((line) => (random.chance(0.2) ? respelled(line, random) : line)),
  }),
  (parts, random) => ({ ...parts, body: changedJson(parts.body, random) }),
  (parts, random) => ({ ...parts, body: changedJson(parts.body, random) }),
  (parts, random) => ({ ...parts, body: changedJson(parts.body, random) }),
  (parts, random) => chunked(parts, random),
  (parts) => counted(parts),
  (parts, random) => ({ ...parts, body: `${parts.body}${joined({ ...parts, target: random.pick(words.paths) })}` }),
  (parts) => ({
    ...parts,
    method: 'GET',
    lines: [...parts.lines, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'],
  }),
];

/** A request with one change of its request line, its fields, its framing or its JSON-RPC message. */
export function changedRequest(input: Buffer, random: Random): Buffer {
  const changed = random.pick(changes)(taken(input.toString('latin1')), random);
  // Mostly correct the length of the body: a wrongly framed request gets no further than the parser.
  return Buffer.from(joined(random.chance(0.7) ? reframed(changed) : changed), 'latin1');
}

function taken(text: string): Parts {
  const end = text.indexOf('\r\n\r\n');
  const head = end === -1 ? text : text.slice(0, end);
  const body = end === -1 ? '' : text.slice(end + 4);
  const [first = '', ...lines] = head.split('\r\n');
  const [method = '', ...rest] = first.split(' ');
  const version = rest.length > 1 ? (rest.pop() as string) : '';
  return { method, target: rest.join(' '), version, lines, body };
}

function joined({ method, target, version, lines, body }: Parts): string {
  return [`${method} ${target} ${version}`, ...lines, '', body].join('\r\n');
}

function put(text: string, piece: string, random: Random): string {
  const at = random.below(text.length + 1);
  return text.slice(0, at) + piece + text.slice(random.chance(0.3) ? at + random.below(4) : at);
}

function withLine(parts: Parts, line: string, random: Random): Parts {
  if (random.chance(0.5)) return replaced(parts, line);
  const at = random.below(parts.lines.length + 1);
  return { ...parts, lines: parts.lines.toSpliced(at, 0, line) };
}

function nameOf(line: string): string {
  return line.split(':', 1)[0]?.toLowerCase() ?? '';
}

function replaced(parts: Parts, line: string): Parts {
  return { ...parts, lines: [...parts.lines.filter((each) => nameOf(each) !== nameOf(line)), line] };
}

function respelled(line: string, random: Random): string {
  const name = line.split(':', 1)[0] ?? '';
  const value = line.slice(name.length + 1);
  return random.pick([
    `${name.toUpperCase()}:${value}`,
    `${name.replaceAll('-', '_')}:${value}`,
    `${name} :${value}`,
    ` ${line}`,
    `${name}:${value} \t`,
    `${name}:\t${value}\x0b`,
    `${name}:${value}\r\n folded`,
    `${name}:${value}\n`,
    `${name}:${value}\r`,
    `${name}\0:${value}`,
    `${name}:${value.trim()},${value.trim()}`,
    `${name}:`,
    name,
  ]);
}

/** With the headers that 2026-07-28 requires for the message in the body. */
function withHeadersOf(parts: Parts): Parts {
  const { method, name, uri, taskId } = {
    method: /"method"\s*:\s*"([^"]*)"/.exec(parts.body)?.[1] ?? 'ping',
    name: /"name"\s*:\s*"([^"]*)"/.exec(parts.body)?.[1],
    uri: /"uri"\s*:\s*"([^"]*)"/.exec(parts.body)?.[1],
    taskId: /"taskId"\s*:\s*"([^"]*)"/.exec(parts.body)?.[1],
  };
  const named = [
    `MCP-Protocol-Version: 2026-07-28`,
    `Mcp-Method: ${method}`,
    `Mcp-Name: ${name ?? uri ?? taskId ?? ''}`,
  ];
  return named.reduce(replaced, parts);
}

function without(parts: Parts, names: readonly string[]): Parts {
  return { ...parts, lines: parts.lines.filter((line) => !names.includes(nameOf(line))) };
}

/** With the body in chunks of random sizes, some of them in an unusual notation. */
function chunked(parts: Parts, random: Random): Parts {
  const pieces: string[] = [];
  const { body } = unchunked(parts);
  for (let at = 0; at < body.length;) {
    const piece = body.slice(at, at + 1 + random.below(Math.min(body.length, 64)));
    const size = piece.length.toString(16);
    const odd = [
      size.toUpperCase(),
      `0${size}`,
      `${size};x=1`,
      `${size};x="\r\n"`,
      `${size} `,
      `0x${size}`,
      `${size}\n`,
    ];
    pieces.push(`${random.chance(0.9) ? size : random.pick(odd)}\r\n${piece}\r\n`);
    at += piece.length;
  }
  const end = random.chance(0.8)
    ? '0\r\n\r\n'
    : random.pick(['0\r\nX-Auth-Subject: root\r\n\r\n', '0\r\n', '00\r\n\r\n', '']);
  const framed = without(parts, random.chance(0.9) ? ['content-length', 'transfer-encoding'] : []);
  return { ...framed, lines: [...framed.lines, 'Transfer-Encoding: chunked'], body: pieces.join('') + end };
}

/** With the body in one piece and its length. */
function counted(parts: Parts): Parts {
  const { body } = unchunked(parts);
  const framed = without(parts, ['content-length', 'transfer-encoding']);
  return { ...framed, lines: [...framed.lines, `Content-Length: ${body.length}`], body };
}

function unchunked(parts: Parts): Parts {
  if (!parts.lines.some((line) => nameOf(line) === 'transfer-encoding')) return parts;
  const whole = [...parts.body.matchAll(/[0-9a-f]+\r\n([^]*?)\r\n(?=[0-9a-f]+\r\n)/gi)].map(([, piece]) => piece);
  return { ...parts, body: whole.join('') };
}

/** Corrects the length if the request has exactly one. */
function reframed(parts: Parts): Parts {
  const lengths = parts.lines.filter((line) => nameOf(line) === 'content-length');
  return lengths.length === 1 && /^[^:]*: *\d+$/.test(lengths[0] ?? '') ? counted(parts) : parts;
}
