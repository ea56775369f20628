import type { IncomingMessage } from 'node:http';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, type ProtectedHeaderParameters } from 'jose';
import { errors, type Provider } from 'oidc-provider';
import {
  buildTokenResponse,
  checkDpopReplay,
  resolveRequestedResources,
  validateDpop,
} from 'oidc-provider/lib/helpers/grants.js';
import type { Clock } from '../core/lib/clock.ts';
import { type FrontDoor, type Workload, WORKLOAD_PREFIX } from '../ports/front-door.ts';
import { subjectOf } from '../tokens/front-door-subject.ts';
import type { RevocationCheck } from '../ports/revocation.ts';
import { type JwtBearerContext, requirePossession } from './assertions.ts';
import { jwtBearerGrant } from './client-policy.ts';
import { createWorkloadKeys, type AssertionKeys, verifiedJwt } from './issuer-discovery.ts';
import { type ClaimsReader, createClaimsReader, type MappedClaims, requireSubject } from './people.ts';
import type { Resources } from './resources.ts';
import { cutScopes, type ScopeRules } from './scope-rules.ts';
import { Unavailable } from './store.ts';

const CLOCK_TOLERANCE_SECONDS = 5;
/** The longest life of a platform's token. */
const MAX_LIFE_SECONDS = 86_400;

/** The parts of the grant of workloads. */
export interface WorkloadParts {
  readonly frontDoor: FrontDoor;
  readonly resources: Resources;
  readonly scopes: ScopeRules;
  readonly clock: Clock;
  /** Whose rights ended; undefined without `revocation`. */
  readonly revocations?: RevocationCheck | undefined;
}

interface KnownWorkload {
  readonly settings: Workload;
  readonly keys: () => Promise<AssertionKeys>;
  readonly reader: ClaimsReader;
  readonly fits: (subject: string) => boolean;
}

/**
 * The JWT bearer grant (RFC 7523 §2.1) for workloads: a job of a platform such as GitHub Actions or Kubernetes presents
 * the OIDC token that its platform gave it. It is no client, and keeps no secret.
 */
export class Workloads {
  readonly #parts: WorkloadParts;
  /** In the order of the configuration. */
  readonly #workloads: readonly KnownWorkload[];
  readonly #claims = new WeakMap<object, MappedClaims>();

  constructor(parts: WorkloadParts) {
    this.#parts = parts;
    this.#workloads = Array.from(parts.frontDoor.workloads.values(), (settings) => ({
      settings,
      keys: createWorkloadKeys(settings, parts.clock),
      reader: createClaimsReader(settings.claims),
      fits: subjectPatterns(settings.subjects),
    }));
  }

  /** The claims of a token of a workload; undefined: of any other. */
  claimsOf(token: object): MappedClaims | undefined {
    return this.#claims.get(token);
  }

  /** Answers a request of the grant. */
  async exchange(provider: Provider, ctx: JwtBearerContext): Promise<void> {
    const { assertion = '', scope } = ctx.oidc.params;
    const workload = this.#workloadOf(assertion);
    const { settings, reader } = workload;
    const client = await provider.Client.find(WORKLOAD_PREFIX + settings.name);
    if (client === undefined) refuse(`the rights of the workload ${settings.name} were ended`);
    ctx.oidc.entity('Client', client);
    const payload = await this.#verified(assertion, workload);
    const subject = subjectOf('workload', settings.name, String(payload.sub));
    this.#requireNotRevoked(subject, payload);
    const dPoP = await validateDpop(provider, ctx);
    requirePossession(payload, dPoP?.thumbprint);
    const granted = cutScopes(scope, settings.scopes);
    const [resourceServer] = await resolveRequestedResources(provider, ctx);
    const token = new provider.ClientCredentials({
      client,
      resourceServer,
      scope: granted,
      expiresIn: this.#lifetimeSeconds(granted, settings, payload),
    });
    this.#claims.set(token, { ...reader.read(payload), sub: subject });
    await checkDpopReplay(provider, ctx, dPoP, client.clientId);
    if (dPoP !== undefined) token.setThumbprint('jkt', dPoP.thumbprint);
    const accessToken = await token.save();
    const { expiration: expiresIn, tokenType } = token;
    ctx.body = buildTokenResponse(provider, { accessToken, expiresIn, scope: granted, tokenType });
  }

  /** The workload that the assertion names. Its signature is verified afterwards, by the keys of that workload. */
  #workloadOf(assertion: string): KnownWorkload {
    const { payload } = decoded(assertion);
    const ofIssuer = this.#workloads.filter(({ settings }) => settings.issuer === payload.iss);
    if (ofIssuer.length === 0) refuse('iss is not an issuer of front_door.workloads');
    const audiences = new Set([payload.aud].flat());
    const forUs = ofIssuer.filter(({ settings }) => audiences.has(settings.audience));
    if (forUs.length === 0) refuse(`aud lacks ${ofIssuer.map(({ settings }) => settings.audience).join(' and ')}`);
    const { sub } = payload;
    requireWorkloadSubject(sub);
    return forUs.find(({ fits }) => fits(sub)) ?? refuse('sub is none of the subjects');
  }

  async #verified(assertion: string, { settings, keys }: KnownWorkload): Promise<JWTPayload> {
    const nowMs = this.#parts.clock();
    const { payload, protectedHeader } = await verifiedJwt(assertion, keys, {
      issuer: settings.issuer,
      audience: settings.audience,
      requiredClaims: ['sub', 'iat', 'exp'],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(nowMs),
    });
    requireOidcType(protectedHeader);
    const latest = nowMs / 1000 + CLOCK_TOLERANCE_SECONDS;
    const { iat, exp } = payload;
    if (typeof iat !== 'number' || iat > latest) refuse('iat is in the future');
    if (typeof exp !== 'number' || exp > latest + MAX_LIFE_SECONDS) refuse('exp is more than 24 hours ahead');
    return payload;
  }

  /** A revocation refuses what it refuses of tokens: an assertion from before, so that nothing new comes of it. */
  #requireNotRevoked(subject: string, { iat }: JWTPayload): void {
    const { revocations, frontDoor } = this.#parts;
    if (revocations === undefined) return;
    if (!revocations.isReady()) throw new Unavailable('the front door does not know the kept revocations yet');
    if (revocations.revokes({ issuer: frontDoor.issuer, subject, issuedAt: iat, claims: {} }))
      refuse('the rights of this workload were ended after its assertion was issued');
  }

  #lifetimeSeconds(granted: string, { lifetimeMs = Infinity }: Workload, { exp = 0 }: JWTPayload): number {
    const { scopes, clock } = this.#parts;
    const rest = exp - Math.ceil(clock() / 1000);
    return Math.max(1, Math.floor(Math.min(lifetimeMs / 1000, scopes.lifetimeSeconds(granted.split(' ')), rest)));
  }
}

/**
 * What a token request says of a workload.
 *
 * - `undefined`: it is another request;
 * - `refused`: it authenticates a client, which a workload is not.
 */
export function workloadRequest(
  form: URLSearchParams,
  { headers: { authorization } }: IncomingMessage,
  hasAssertions: boolean,
): 'admitted' | 'refused' | undefined {
  if (form.get('grant_type') !== jwtBearerGrant) return undefined;
  if (hasAssertions && isIdentityAssertion(form.get('assertion') ?? '')) return undefined;
  const authenticates = ['client_secret', 'client_assertion', 'client_assertion_type'].some((name) => form.has(name));
  return authenticates || authorization !== undefined ? 'refused' : 'admitted';
}

function isIdentityAssertion(assertion: string): boolean {
  try {
    return typeOf(decodeProtectedHeader(assertion)) === 'oauth-id-jag+jwt';
  } catch {
    return false;
  }
}

function decoded(assertion: string): { readonly payload: JWTPayload } {
  try {
    return { payload: decodeJwt(assertion) };
  } catch {
    return refuse('the assertion is not a JWT');
  }
}

/** RFC 7515 §4.1.9: a media type, in any case, where `application/` may be left out. */
function typeOf({ typ }: ProtectedHeaderParameters): string | undefined {
  return typ?.toLowerCase().replace(/^application\//, '');
}

/** An ID token has no `typ` of its own. An access token of the same issuer has: it is none. */
function requireOidcType(header: ProtectedHeaderParameters): void {
  const type = typeOf(header);
  if (type !== undefined && type !== 'jwt' && type !== 'jose') refuse('typ is that of another kind of token');
}

function requireWorkloadSubject(sub: unknown): asserts sub is string {
  try {
    requireSubject(sub);
  } catch (error) {
    refuse(error instanceof Error ? error.message : String(error));
  }
  if (/\p{Cc}/u.test(sub)) refuse('sub has a control character');
}

/**
 * Compiles patterns of subjects: `*` stands for a run without `:` and `/`, `**` for any run, and neither for an empty
 * one. The time grows with the product of both lengths, whatever the caller writes.
 */
export function subjectPatterns(patterns: readonly string[]): (subject: string) => boolean {
  const compiled = patterns.map((pattern) => pattern.split(/(\*\*?)/).flatMap(partsOf));
  return (subject) => compiled.some((parts) => matches(parts, subject));
}

type Part = 'segment' | 'any' | { readonly literal: string };

function partsOf(text: string): readonly Part[] {
  if (text === '*') return ['segment'];
  if (text === '**') return ['any'];
  return text === '' ? [] : [{ literal: text }];
}

function matches(parts: readonly Part[], subject: string): boolean {
  /** The places in `subject` that the parts so far can end at. */
  let ends = new Set([0]);
  for (const part of parts) {
    const next = new Set<number>();
    if (typeof part === 'object') {
      for (const end of ends) if (subject.startsWith(part.literal, end)) next.add(end + part.literal.length);
    } else {
      let isOpen = false;
      for (let place = 0; place < subject.length; place += 1) {
        isOpen ||= ends.has(place);
        if (part === 'segment' && (subject[place] === ':' || subject[place] === '/')) isOpen = false;
        if (isOpen) next.add(place + 1);
      }
    }
    ends = next;
  }
  return ends.has(subject.length);
}

function refuse(why: string): never {
  throw new errors.InvalidGrant(why);
}
