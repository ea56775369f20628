import { refusals } from '../../../src/capabilities/all.ts';
import type { Answer } from './clients.ts';
import type { PythonMessage, PythonReading } from './python.ts';
import type { Recorded } from './recorder.ts';
import { routes } from './world.ts';

/** One line of the decision log. */
export interface DecisionLine {
  readonly request_id: string;
  readonly allow: boolean;
  readonly route?: string;
  readonly reason?: string;
  readonly subject?: string;
  readonly client_id?: string;
  readonly method?: string;
  readonly tool?: string;
}

/** Fields that a client must not send to an upstream. Written independently of `src/` on purpose. */
const neverFromClients = new RegExp(
  `^(?:${[
    'forwarded|client-cert|client-ip|true-client-ip|x-real-ip|x-client-ip|cf-connecting-ip|remote-user|expect|dpop',
    'x-(?:original|remote|http|override|ssl|envoy|azure|appengine)-.*|x-method-override|x-rewrite-url',
    'proxy-(?:authorization|authenticate|connection)|te|trailer|upgrade|keep-alive',
  ].join('|')})$`,
);

/** How a request differs from its decision, or its readers from each other. Undefined if all agree. */
export function disagreement(
  request: Recorded,
  python: PythonReading,
  decision: DecisionLine | undefined,
): string | undefined {
  if (python.error !== undefined) return request.complete ? `python refuses it: ${python.error}` : undefined;
  if (decision === undefined) return 'it has no decision';
  if (!decision.allow) return `it was refused: ${decision.reason}`;
  return (
    betweenReaders(request, python) ??
    inTarget(python, decision) ??
    inFields(request, python, decision) ??
    inMessage(request, python, decision)
  );
}

function betweenReaders(request: Recorded, python: PythonReading): string | undefined {
  const { method, target, rawHeaders, body, complete } = request;
  if (python.method !== method) return `Node reads the method ${method}, Python ${python.method}`;
  if (python.target !== target) return `Node reads the target ${target}, Python ${python.target}`;
  if (python.complete !== complete) return `the body is complete only for ${complete ? 'Node' : 'Python'}`;
  if (!complete) return undefined;
  if (python.length !== body.length) return `Node reads ${body.length} bytes of body, Python ${python.length}`;
  if (python.rest !== 0) return `Python finds ${python.rest} bytes after the request`;
  if (python.framings > 1) return `${python.framings} fields frame the body`;
  const node = rawHeaders.flatMap((name, i) =>
    i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1]?.replaceAll(/^[ \t]+|[ \t]+$/g, '')]] : [],
  );
  const [here, there] = [JSON.stringify(node), JSON.stringify(python.headers)];
  return here === there ? undefined : `Node reads other fields than Python\n${here}\n${there}`;
}

/** Each route has its own path at the upstream. A server that decodes and ignores case must find the same route. */
function inTarget({ path }: PythonReading, { route = '' }: DecisionLine): string | undefined {
  const place = `/u/${route}`;
  const rest = path.slice(place.length);
  if (!path.startsWith(place) || (rest !== '' && !rest.startsWith('/'))) return `${path} is not a path of ${route}`;
  if (
    rest
      .split(/[/\\]/)
      .some(
        (segment, i) =>
          segment === '..' || segment === '.' || (segment === '' && i > 1 && i < rest.split('/').length - 1),
      )
  ) {
    return `${path} has a segment that goes elsewhere`;
  }
  if (isCut(path)) return `${path} has a character that cuts it`;
  // The path that the client sent, as a server with the same routes would understand it.
  const called = ((routes.get(route) === '/' ? '' : routes.get(route)) + rest).toLowerCase() || '/';
  const met = [...routes]
    .filter(([, at]) => at === '/' || called === at || called.startsWith(`${at}/`))
    .toSorted(([, one], [, other]) => other.length - one.length)[0]?.[0];
  return met === route ? undefined : `${called} belongs to ${met}, the decision is for ${route}`;
}

function inFields(request: Recorded, { headers }: PythonReading, decision: DecisionLine): string | undefined {
  const named = (name: string): readonly string[] =>
    headers.filter(([each]) => each.replaceAll(/[^a-z0-9]/g, '-') === name).map(([, value]) => value);
  const single = (name: string, value: string | undefined): string | undefined => {
    const found = named(name);
    const wanted = value === undefined ? [] : [value];
    return JSON.stringify(found) === JSON.stringify(wanted)
      ? undefined
      : `${name} is ${JSON.stringify(found)}, not ${value}`;
  };
  const isUpgrade = decision.route === 'socket' && named('upgrade').length === 1;
  const foreign = headers.find(([name]) => {
    const plain = name.replaceAll(/[^a-z0-9]/g, '-');
    return neverFromClients.test(plain) && !(isUpgrade && plain === 'upgrade');
  });
  if (foreign !== undefined) return `${foreign[0]} reached the upstream`;
  const isOpen = decision.route === 'open';
  const authorization = named('authorization');
  if (decision.route === 'forwarded' ? authorization.length !== 1 : authorization.length !== 0) {
    return `${authorization.length} Authorization fields`;
  }
  const hosts = named('host');
  if (hosts.length !== 1 || !hosts[0]?.startsWith('127.0.0.1:')) return `host is ${JSON.stringify(hosts)}`;
  return (
    (isOpen
      ? undefined
      : (single('x-auth-subject', decision.subject) ?? single('x-auth-client', decision.client_id))) ??
    single('x-request-id', decision.request_id) ??
    single('x-forwarded-for', '127.0.0.1') ??
    single('x-forwarded-proto', 'http') ??
    single('x-forwarded-host', 'gateway.test') ??
    (request.method === 'CONNECT' || request.method === 'TRACE' ? request.method : undefined)
  );
}

function inMessage(request: Recorded, { message }: PythonReading, decision: DecisionLine): string | undefined {
  if (decision.route === 'admin') return 'no caller may reach admin';
  if (decision.route !== 'tools' && decision.route !== 'notes') {
    return decision.method === request.method
      ? undefined
      : `the decision is for ${decision.method}, the request is ${request.method}`;
  }
  if (request.method !== 'POST') {
    return decision.method === request.method && request.body.length === 0
      ? undefined
      : `the decision is for ${decision.method}, the request is ${request.method} or has a body`;
  }
  // No server acts on an incomplete request.
  if (!request.complete) return undefined;
  if (message === undefined || message.error !== undefined) return `Python reads no message: ${message?.error}`;
  if (message.odd !== undefined && message.odd.length > 0) return `readers may differ: ${message.odd.join(', ')}`;
  const node = JSON.parse(request.body.toString()) as { method?: unknown; params?: { name?: unknown } };
  if (node.method !== (message.method ?? undefined))
    return `Node reads ${String(node.method)}, Python ${String(message.method)}`;
  const method = message.method ?? 'POST';
  if (cut(method) !== decision.method)
    return `the decision is for ${decision.method}, the message says ${JSON.stringify(method)}`;
  const tool = method === 'tools/call' ? cut(message.name) : undefined;
  if (tool !== decision.tool)
    return `the decision is for the tool ${decision.tool}, the message says ${JSON.stringify(tool)}`;
  return decision.route === 'tools' ? beyondPolicy(message, decision.subject) : undefined;
}

/** The policy of `tools`, written a second time. */
function beyondPolicy({ method, name, uri, amount }: PythonMessage, subject: string | undefined): string | undefined {
  const allowed =
    method === 'tools/call'
      ? String(name).startsWith('get_') ||
        (name === 'transfer_funds' && subject === 'bob' && typeof amount === 'number' && amount <= 1000)
      : method === 'prompts/get'
        ? name === 'summary'
        : typeof method === 'string' && /^resources\/(?:read|subscribe|unsubscribe)$/.test(method)
          ? /^prices:\/\/[^/]*$/.test(String(uri))
          : true;
  return allowed ? undefined : `${subject} may not: ${String(method)} ${String(name)} ${String(uri)} ${amount}`;
}

/** Whether some server cuts a decoded path short, or splits it at a character other than a slash. */
function isCut(path: string): boolean {
  return /[;\\]/.test(path) || path.split('').some((character) => character < ' ' || character === '\x7f');
}

/** A name as the log shows it. */
function cut(text: unknown): unknown {
  return typeof text === 'string' && text.length > 256 ? `${text.slice(0, 256)}…` : text;
}

/** What is wrong with an answer, given the decision and a later failure. */
export function wrongAnswer(
  { status, id, isRelayed }: Answer,
  decision: DecisionLine | undefined,
  failure: string | undefined,
): string | undefined {
  if (isRelayed) return decision?.allow === true ? undefined : `an upstream answered ${id}, which was not allowed`;
  // Malformed bytes have a decision without a route. Published metadata has no decision.
  if (decision === undefined) return [200, 204, 405].includes(status) ? undefined : `${status} without a decision`;
  const reason = decision.allow ? failure : decision.reason;
  if (reason === undefined)
    return [200, 204, 502].includes(status) || decision.route === 'socket'
      ? undefined
      : `${status} from the gateway for an allowed request`;
  if (!Object.hasOwn(refusals, reason)) return `the unknown reason ${reason}`;
  const wanted = refusals[reason]?.status;
  if (reason === 'gateway.error') return 'an internal error';
  return status === wanted ? undefined : `${status} for ${reason}, which is ${wanted}`;
}
