import { isObject } from '../lib/json/own-member.ts';
import { parsedJson } from '../lib/json/parsed.ts';
import { durationMs } from '../lib/quantity.ts';
import type { Config } from '../model/config.ts';
import { describedKinds, listedKinds, mcpMethod } from '../model/mcp.ts';
import { unknownArguments, type Attempt, type McpTarget } from '../model/policy.ts';
import type { Claims, Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { requestFlaw } from '../policy/request-pattern.ts';
import { UsageError } from './exit.ts';
import { quoted } from '../lib/wording.ts';
import { describedIdentity, principalWith } from '../review/described-caller.ts';

/** The options that describe a call. */
export interface DescribedCall {
  readonly tool: string | undefined;
  readonly resource: string | undefined;
  readonly prompt: string | undefined;
  readonly method: string | undefined;
  /** Of an HTTP route: `POST /orders`. */
  readonly request: string | undefined;
  /** JSON: an object. */
  readonly arguments: string | undefined;
  /** JSON: an object. */
  readonly claims: string | undefined;
  /** Separated by spaces; besides, or instead of, a `scope` among the claims. */
  readonly scope: string | undefined;
  /** `60s`; `exp - iat`. */
  readonly lifetime: string | undefined;
}

/**
 * The caller and the call that options describe.
 *
 * @throws {UsageError}
 */
export function describedCall(
  route: Route,
  config: Config,
  options: DescribedCall,
): { readonly principal: Principal; readonly attempt: Attempt } {
  return { principal: callerIn(route, config, options), attempt: attemptIn(route, options) };
}

function callerIn(route: Route, config: Config, { claims, scope, lifetime }: DescribedCall): Principal {
  const found = claims === undefined ? {} : jsonObject(claims, '--claims');
  const { iss, scope: own } = found;
  const lifetimeMs = lifetime === undefined ? undefined : durationMs(lifetime);
  if (lifetime !== undefined && lifetimeMs === undefined) {
    throw new UsageError(`--lifetime: ${JSON.stringify(lifetime)} is not a duration such as 60s`);
  }
  const exp = found['exp'];
  const iat = found['iat'];
  const principal = principalWith(
    {
      issuer: typeof iss === 'string' ? iss : (route.authorizationServers[0]?.issuer ?? ''),
      ...describedIdentity(found),
      scope: (scope ?? (typeof own === 'string' ? own : '')).split(' ').filter((each) => each !== ''),
      claims: found,
      lifetimeSeconds: lifetimeMs === undefined ? undefined : lifetimeMs / 1000,
    },
    config.scopeHierarchy,
  );
  return {
    ...principal,
    expiresAt: principal.expiresAt ?? (typeof exp === 'number' ? exp : undefined),
    issuedAt: principal.issuedAt ?? (typeof iat === 'number' ? iat : undefined),
  };
}

function attemptIn(route: Route, options: DescribedCall): Attempt {
  const [kind, second] = describedKinds.filter((each) => options[each] !== undefined);
  if (second !== undefined) throw new UsageError(`one call cannot act on a ${kind} and a ${second}`);
  if (route.protocol === 'http') return requestIn(route, kind ?? (options.method && 'method'), options.request);
  if (kind === 'request') throw new UsageError(`--request: ${route.name} is not protocol: http`);
  const targets: readonly McpTarget[] = kind === undefined ? [] : [{ kind, name: options[kind] ?? '' }];
  return {
    kind: 'mcp',
    method: mcpMethod(options.method ?? (kind === undefined ? undefined : listedKinds[kind].namedBy)),
    targets,
    arguments: options.arguments === undefined ? unknownArguments : jsonObject(options.arguments, '--arguments'),
  };
}

function requestIn({ name, policy }: Route, described: string | undefined, request: string | undefined): Attempt {
  if (described !== undefined && described !== 'request') {
    throw new UsageError(`--${described}: ${name} is not protocol: mcp`);
  }
  if (request === undefined && policy?.listsRequests === true) {
    throw new UsageError(`the policy of ${name} decides by method and path: add --request 'GET /PATH'`);
  }
  const flaw = request === undefined ? undefined : requestFlaw(request, 'requests');
  if (flaw !== undefined) throw new UsageError(`--request: ${quoted(request ?? '')} ${flaw}`);
  return request === undefined ? { kind: 'http' } : { kind: 'http', request };
}

/** @throws {UsageError} with what the option has instead; a value that looks like a secret is not shown. */
function jsonObject(text: string, option: '--claims' | '--arguments'): Claims {
  const value = parsedJson(text);
  if (isObject(value)) return value;
  const example = option === '--claims' ? '{"sub":"alice"}' : '{"id":1}';
  const wanted = `pass a JSON object such as '${example}', in single quotes`;
  if (option === '--claims' && /^[\w-]+\.[\w-]+\.[\w-]*$/.test(text)) {
    throw new UsageError('--claims looks like a token: pass a token as --token, or - to read it from stdin');
  }
  const kind = value === undefined ? 'JSON' : 'a JSON object';
  throw new UsageError(`${option}: ${quoted(text)} is not ${kind}; ${wanted}`);
}
