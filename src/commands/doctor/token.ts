import { notAccepted, notAcceptedOf, outOfTime } from '../../tokens/refusal-detail.ts';
import { claimedIssuer, encryptedToken, isEncrypted, requireAlgorithm, requireType } from '../../tokens/jwt.ts';
import { audienceOf as audienceIn, scopesOf } from '../../tokens/principal.ts';
import { callerOf } from '../../serve/gateway/caller.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { parsedJson } from '../../core/lib/json/parsed.ts';
import { type AuthorizationServer, issuersOf } from '../../core/model/authorization-server.ts';
import type { Config } from '../../ports/config.ts';
import { Denial } from '../../core/model/denial.ts';
import type { Claims, Principal } from '../../core/model/principal.ts';
import { requestedScopes, type Route } from '../../core/model/route.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import { type Finding, findingsOn } from '../../capabilities/finding.ts';

const on = findingsOn('token');

/**
 * Compares what a token says with what a route takes, claim by claim, then asks the code that serves for its verdict.
 * No finding shows the token.
 *
 * @param routeName Undefined: the route whose audience the token names.
 */
export async function examineToken(
  token: string,
  routeName: string | undefined,
  config: Config,
  now: number,
): Promise<readonly Finding[]> {
  if (isEncrypted(token)) return [on.fail(encryptedToken, 'let the client request the resource of the route')];
  const jwt = decodedJwt(token);
  const route = chosenRoute(routeName, jwt?.claims, config);
  if (!isRoute(route)) return [route];
  const verdict = await validated(token, route, config);
  const said = jwt ?? (verdict instanceof Denial ? undefined : { header: undefined, claims: verdict.claims });
  return [
    on.ok(`it is compared with route ${route.name}`),
    ...(said === undefined ? [] : examineClaims(said, route, now)),
    verdictOn(verdict, route, jwt === undefined),
  ];
}

interface Decoded {
  /** Undefined: the claims are those of an introspection answer. */
  readonly header: Claims | undefined;
  readonly claims: Claims;
}

function decodedJwt(token: string): Decoded | undefined {
  if (claimedIssuer(token) === undefined) return undefined;
  const [header, claims] = token.split('.').map((part) => parsedJson(Buffer.from(part, 'base64url').toString()));
  return isObject(header) && isObject(claims) ? { header, claims } : undefined;
}

function isRoute(found: Route | Finding): found is Route {
  return 'upstream' in found;
}

function chosenRoute(name: string | undefined, claims: Claims | undefined, { routes }: Config): Route | Finding {
  const withTokens = routes.filter((route) => !route.public);
  const names = withTokens.map((route) => route.name).join(', ');
  const named = withTokens.filter((route) => (name === undefined ? isNamedBy(claims, route) : route.name === name));
  const [route] = named.length > 0 || name !== undefined || withTokens.length > 1 ? named : withTokens;
  if (route !== undefined) return route;
  if (name !== undefined)
    return on.fail(`no route with tokens is named ${JSON.stringify(name)}`, `choose one of ${names}`);
  if (claims === undefined && !withTokens.some(({ tokens }) => tokens.has('opaque')))
    return on.fail('it is opaque, and no route accepts opaque tokens', opaqueRemedy);
  const aud =
    claims === undefined ? 'opaque' : `for aud ${audienceOf(claims).map(describeValue).join(', ') || 'nothing'}`;
  return on.fail(`it is ${aud}, which names no route`, `name the route: --route, one of ${names}`);
}

const opaqueRemedy =
  'configure introspection of its authorization server: client_id and client_secret of the gateway there';

const inactiveRemedy =
  'get a new token; if it is new, the server may show a client only its own tokens, as better-auth and Glewlwyd do: ' +
  'allow the client of the gateway to introspect all, or use JWTs';

function isNamedBy(claims: Claims | undefined, { audiences }: Route): boolean {
  return claims !== undefined && audienceOf(claims).some((each) => audiences.includes(String(each)));
}

function audienceOf({ aud }: Claims): readonly unknown[] {
  if (aud === undefined) return [];
  return Array.isArray(aud) ? aud : [aud];
}

function examineClaims(said: Decoded, route: Route, now: number): readonly Finding[] {
  const { header, claims } = said;
  const { iss, aud } = claims;
  const servers = route.authorizationServers;
  const server =
    servers.find((each) => issuersOf(each).includes(String(iss))) ?? (servers.length === 1 ? servers[0] : undefined);
  const issuers = servers.flatMap(issuersOf);
  return [
    // RFC 7662 §2.2: an introspection answer need not have them.
    judged('iss', [iss], issuers.includes(String(iss)) ? undefined : notAccepted('iss', iss ?? '', issuers)),
    // RFC 7662 §2.2: an introspection answer need not have `aud`.
    ...(header === undefined && aud === undefined ? [] : [examineAudience(said, route, server)]),
    ...(header === undefined || server === undefined ? [] : examineHeader(header, server)),
    ...examineTimes(claims, server?.clockToleranceMs ?? 0, now),
    ...examineScope(claims, route),
  ];
}

/** @param fault What is wrong with the value; undefined: the route takes it. */
function judged(name: string, values: readonly unknown[], fault: string | undefined): Finding {
  if (fault !== undefined) return on.fail(fault, remedies[name] ?? 'get another token');
  return on.ok(`${name} is ${values.map(describeValue).join(', ')}`);
}

function examineAudience({ header, claims }: Decoded, route: Route, server: AuthorizationServer | undefined): Finding {
  const isTyped = /^(?:application\/)?at\+jwt$/i.test(String(header?.['typ']));
  const standIn = claims['aud'] === undefined && server !== undefined ? audienceIn(claims, isTyped, server) : [];
  const found = standIn.length === 0 ? audienceOf(claims) : standIn;
  const isAccepted = found.some((each) => route.audiences.includes(String(each)));
  return judged(
    standIn.length === 0 ? 'aud' : `aud (by audience_claim)`,
    found,
    isAccepted ? undefined : notAcceptedOf('aud', found, route.audiences),
  );
}

const remedies: Readonly<Record<string, string>> = {
  iss: 'set the issuer byte for byte, or let the route trust that server',
  aud: 'let the client request this resource, or add the value to audience of the route',
  alg: 'add it to jwt.algorithms if the server signs access tokens so',
  typ: 'present the access token, not an ID token; or add it to jwt.types',
};

function examineHeader({ alg, typ = '' }: Claims, { jwt }: AuthorizationServer): readonly Finding[] {
  const type = String(typ)
    .toLowerCase()
    .replace(/^application\//, '');
  const signature = { algorithm: String(alg), type };
  return [
    judged(
      'alg',
      [alg],
      faultOf(() => requireAlgorithm(signature, jwt)),
    ),
    judged('typ', [typ], jwt === undefined ? undefined : faultOf(() => requireType(signature, jwt))),
  ];
}

function faultOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof Denial) return error.detail;
    throw error;
  }
}

function examineTimes({ exp, nbf }: Claims, toleranceMs: number, now: number): readonly Finding[] {
  const found: Finding[] = [];
  if (typeof exp === 'number') {
    const text = outOfTime('exp', exp, now, toleranceMs);
    found.push(exp * 1000 + toleranceMs > now ? on.ok(text) : on.fail(text, 'get a new token; compare the clocks'));
  }
  if (typeof nbf === 'number' && nbf * 1000 - toleranceMs > now) {
    found.push(on.fail(outOfTime('nbf', nbf, now, toleranceMs), 'compare the clocks'));
  }
  return found;
}

/** The scope of every request; calls may need more, for which the gateway sends a challenge. */
function examineScope(claims: Claims, route: Route): readonly Finding[] {
  const { policy } = route;
  let granted: readonly string[] = [];
  // The verdict says why a scope of the wrong type is refused.
  faultOf(() => (granted = scopesOf(claims)));
  const missing = (policy?.scope ?? []).filter((each) => !granted.includes(each));
  const text = `scope is ${describeValue(granted.join(' '))}`;
  if (missing.length === 0) return [on.ok(text)];
  const remedy = `request ${requestedScopes(route, missing).join(' ')}, unless \`scopes\` implies it`;
  return [on.warn(`${text}; policy ${policy?.name} needs ${missing.join(' ')}`, remedy)];
}

function verdictOn(verdict: Principal | Denial, route: Route, isOpaque: boolean): Finding {
  if (!(verdict instanceof Denial)) {
    const bound = verdict.confirmation === undefined ? '' : ', with a proof of possession: it is bound to a key';
    return on.ok(`route ${route.name} accepts it${bound}`);
  }
  const text = `route ${route.name} refuses it: ${verdict.reason}: ${verdict.detail}`;
  return on.fail(text, remedyOf(verdict.reason, isOpaque));
}

function remedyOf(reason: string, isOpaque: boolean): string {
  if (reason === 'token.form' && isOpaque) return opaqueRemedy;
  if (reason === 'token.inactive') return inactiveRemedy;
  if (reason === 'authorization_server.unavailable') return 'see what doctor says of the authorization server';
  return 'docs/reasons.md explains the reason; `sallyport explain --token -` shows the decision on a call';
}

async function validated(value: string, route: Route, config: Config): Promise<Principal | Denial> {
  try {
    return await callerOf(value, route, config);
  } catch (error) {
    if (error instanceof Denial) return error;
    throw error;
  }
}
