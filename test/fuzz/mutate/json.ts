import type { Random } from './random.ts';
import { listed } from './request-words.ts';

const scalars = listed(`
  0 -0 1 1.0 1e0 1000 1000.5 1001 1e3 1e400 -1e400 9007199254740993 1E+2 01 0.1e-7 true false null "" "a" "\\u0061"
  "\\ud800" "\\ud83d\\ude00" "\\u0000" [] {} [1] {"a":1} NaN Infinity - "get_prices" "transfer_funds" "delete_all"
  "1000" "prices://gold" "prices://a/b" "secret://x" "2.0" "tools/call" "tools/list" "ref/prompt"
`);
const keys = [
  ...listed(`
  jsonrpc method id params name arguments amount uri result error _meta taskId requestState ref type notifications
  resourceSubscriptions task io.modelcontextprotocol/protocolVersion __proto__ constructor Method NAME n\\u0061me
  name\\u0000 ar\\u0067uments Params k \xe2\x84\xaa
`),
  '',
];
const methods = [
  ...listed(`
  tools/call tools/list resources/read resources/list prompts/get initialize ping tasks/get tasks/cancel
  completion/complete subscriptions/listen notifications/initialized server/discover resources/subscribe
  logging/setLevel Tools/Call tools\\/call sampling/createMessage
`),
  'tools/call ',
];
const wholes = [
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_prices","arguments":{}}}',
  '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"transfer_funds","arguments":{"amount":10}}}',
  '{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"prices://gold"}}',
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_x",' +
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}',
];

/** A JSON text with one change of its tokens: a repeated member, another key or value, a space, an escape. */
export function changedJson(text: string, random: Random): string {
  if (!text.includes('{') || random.chance(0.05)) return random.pick(wholes);
  const tokens = text.match(/"(?:[^"\\]|\\[^])*"|[{}[\],:]|[^\s{}[\],:"]+|\s+|"/g) ?? [];
  const at = (holds: (token: string, i: number) => boolean): number => {
    const fitting = [...tokens.keys()].filter((i) => holds(tokens[i] as string, i));
    return fitting.length === 0 ? -1 : random.pick(fitting);
  };
  const isKey = (_: string, i: number): boolean => tokens[i + 1] === ':';
  const isScalar = (token: string, i: number): boolean => !/^[{}[\],:\s]/.test(token) && tokens[i + 1] !== ':';
  const put = (i: number, remove: number, ...added: string[]): string => tokens.toSpliced(i, remove, ...added).join('');
  switch (random.below(13)) {
    case 0:
      return put(at(isKey), 1, `"${random.pick(keys)}"`);
    case 1:
    case 2:
      return put(at(isScalar), 1, random.pick(scalars));
    case 3:
      return put(at((token) => token === '{') + 1, 0, `"${random.pick(keys)}":${random.pick(scalars)},`);
    case 4:
      return put(
        at((token) => token === '}'),
        0,
        `,"${random.pick(keys)}":${random.pick(scalars)}`,
      );
    case 5: {
      const key = at(isKey);
      return put(key, 0, tokens[key] ?? '', ':', random.pick(scalars), ',');
    }
    case 6: {
      const key = at(isKey);
      return put(key, 0, alike(tokens[key] ?? '""', random), ':', random.pick(scalars), ',');
    }
    case 7: {
      const string = at((token) => token.startsWith('"'));
      return put(string, 1, escaped(tokens[string] ?? '""', random));
    }
    case 8:
      return put(
        random.below(tokens.length + 1),
        0,
        random.pick([' ', '\n', '\t', '\r\n', '\x0c', '\xa0', '\xef\xbb\xbf', '/**/', ',', '\0']),
      );
    case 9:
      return `[${text}]`;
    case 10:
      return text.replace(/"method"\s*:\s*"[^"]*"/, () => `"method":"${random.pick(methods)}"`);
    case 11:
      return text.replace(/"params"\s*:\s*\{/, () => `"params":{"${random.pick(keys)}":${random.pick(scalars)},`);
    default:
      return random.pick(wholes);
  }
}

/** A key that some readers take for the same one: in another case, with a letter that folds to it, or escaped. */
function alike(key: string, random: Random): string {
  const at = 1 + random.below(Math.max(key.length - 2, 1));
  const letter = key.charAt(at);
  const other = random.pick([
    letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase(),
    letter === 's' ? '\xc5\xbf' : `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  ]);
  return random.chance(0.2) ? key.toUpperCase() : key.slice(0, at) + other + key.slice(at + 1);
}

function escaped(string: string, random: Random): string {
  const at = 1 + random.below(Math.max(string.length - 2, 1));
  const unit = string.charCodeAt(at);
  const other = random.pick([
    `\\u${unit.toString(16).padStart(4, '0')}`,
    string.charAt(at).toUpperCase(),
    `\\${string.charAt(at)}`,
    `${string.charAt(at)}\\u200b`,
    '\xc5\xbf',
    '\\',
  ]);
  return string.slice(0, at) + other + string.slice(at + 1);
}
