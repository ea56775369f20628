import { hash } from 'node:crypto';
import { decodeJwt, type JWTPayload } from 'jose';
import { errors, type Provider, type TokenEndpointGrantContext } from 'oidc-provider';
import {
  buildTokenResponse,
  checkDpopReplay,
  resolveRequestedResources,
  validateDpop,
} from 'oidc-provider/lib/helpers/grants.js';
import type { Clock } from '../core/lib/clock.ts';
import { ownMember } from '../core/lib/json/own-member.ts';
import { reasonOf } from '../core/lib/wording.ts';
import { lengthPrefixed } from '../core/lib/digest.ts';
import type { AssertionIssuer, FrontDoor } from '../ports/front-door.ts';
import { subjectOf } from '../tokens/front-door-subject.ts';
import { createAssertionKeys, type AssertionKeys, verifiedJwt } from './issuer-discovery.ts';
import { type ClaimsReader, createClaimsReader, type MappedClaims, requireSubject } from './people.ts';
import { jwtBearerGrant } from './client-policy.ts';
import type { Resources } from './resources.ts';
import type { ScopeRules } from './scope-rules.ts';
import type { Store } from './store.ts';

// Made for grants of one's own, and not covered by semantic versioning: the version is pinned.

const MAX_AGE_SECONDS = 300;
const CLOCK_TOLERANCE_SECONDS = 5;

/** The parts of the grant of identity assertions. */
export interface AssertionParts {
  readonly frontDoor: FrontDoor;
  readonly resources: Resources;
  readonly scopes: ScopeRules;
  readonly store: Store;
  readonly clock: Clock;
}

interface KnownIssuer {
  readonly settings: AssertionIssuer;
  readonly keys: () => Promise<AssertionKeys>;
  readonly reader: ClaimsReader;
}

interface AssertedAccess {
  readonly subject: string;
  readonly resource: string;
  readonly scopes: readonly string[];
}

/** The parameters of the JWT bearer grant, RFC 7523 §2.1. */
export interface JwtBearerRequest {
  assertion?: string;
  scope?: string;
  resource?: string;
}

export type JwtBearerContext = TokenEndpointGrantContext<JwtBearerRequest>;

/**
 * The JWT bearer grant (RFC 7523 §2.1) for identity assertions (ID-JAG, MCP enterprise-managed authorization): the
 * company vouches for a person to a client, and no browser is needed.
 */
export class Assertions {
  readonly #parts: AssertionParts;
  /** By `iss`. */
  readonly #issuers: ReadonlyMap<string, KnownIssuer>;
  readonly #claims = new WeakMap<object, MappedClaims>();

  constructor(parts: AssertionParts) {
    this.#parts = parts;
    this.#issuers = new Map(
      Array.from(parts.frontDoor.assertions.values(), (settings) => [
        settings.issuer,
        {
          settings,
          keys: createAssertionKeys(settings, parts.clock),
          reader: createClaimsReader(settings.claims),
        },
      ]),
    );
  }

  /** The claims of a token that an assertion was exchanged for; undefined: of any other. */
  claimsOf(token: object): MappedClaims | undefined {
    return this.#claims.get(token);
  }

  /** Answers a request of the grant. */
  async exchange(provider: Provider, ctx: JwtBearerContext): Promise<void> {
    const { client, params } = ctx.oidc;
    const { assertion = '', scope } = params;
    const { settings, keys, reader } = this.#issuerOf(assertion);
    if (!settings.clients.includes(client.clientId)) refuse('its issuer does not vouch for people to this client');
    const payload = await this.#verified(assertion, settings.issuer, keys);
    const { subject, resource, scopes } = this.#read(payload, ctx);
    const granted = this.#grantedOf(scopes, scope, settings, payload);
    const dPoP = await validateDpop(provider, ctx);
    requirePossession(payload, dPoP?.thumbprint);
    params.resource = resource;
    const [resourceServer] = await resolveRequestedResources(provider, ctx);
    const token = new provider.AccessToken({
      accountId:
        settings.provider === undefined
          ? subjectOf('assertion', settings.name, subject)
          : subjectOf('provider', settings.provider, subject),
      client,
      expiresWithSession: false,
      gty: jwtBearerGrant,
      resourceServer,
      scope: granted.join(' '),
      // No grant: nothing can be refreshed, and the token ends by itself or by its own revocation.
    } as ConstructorParameters<typeof provider.AccessToken>[0]);
    this.#claims.set(token, reader.read(payload));
    await this.#useUp(payload, settings);
    await checkDpopReplay(provider, ctx, dPoP, client.clientId);
    if (dPoP !== undefined) token.setThumbprint('jkt', dPoP.thumbprint);
    const accessToken = await token.save();
    ctx.body = buildTokenResponse(provider, {
      accessToken,
      expiresIn: token.expiration,
      scope: token.scope,
      tokenType: token.tokenType,
    });
  }

  /** The issuer that the assertion names. Its signature is verified afterwards, by the keys of that issuer. */
  #issuerOf(assertion: string): KnownIssuer {
    let named: string | undefined;
    try {
      named = decodeJwt(assertion).iss;
    } catch {
      throw new errors.InvalidGrant('the assertion is not a JWT');
    }
    return this.#issuers.get(named ?? '') ?? refuse('iss is not an issuer of front_door.assertions');
  }

  async #verified(assertion: string, issuer: string, keys: () => Promise<AssertionKeys>): Promise<JWTPayload> {
    const { frontDoor, clock } = this.#parts;
    const { payload } = await verifiedJwt(assertion, keys, {
      typ: 'oauth-id-jag+jwt',
      issuer,
      audience: frontDoor.issuer,
      requiredClaims: ['sub', 'client_id', 'resource', 'scope', 'jti', 'iat', 'exp'],
      maxTokenAge: MAX_AGE_SECONDS,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(clock()),
    });
    return payload;
  }

  #read(payload: JWTPayload, { oidc: { client, params } }: JwtBearerContext): AssertedAccess {
    const { sub, aud, jti, scope, client_id: clientId, resource: named } = payload;
    const subject = subjectIn(sub);
    if (typeof jti !== 'string' || jti === '') refuse('jti is not a text');
    if (typeof scope !== 'string') refuse('scope is not a text');
    // Another audience could present it here.
    if ([aud].flat().length !== 1) refuse('aud names others too');
    if (client.clientAuthMethod === 'none') refuse('the client has not authenticated');
    if (clientId !== client.clientId) refuse('client_id is another client');
    const [resource, ...others] = [named].flat();
    if (typeof resource !== 'string' || others.length > 0) refuse('resource is not one resource');
    const audience = this.#audienceOf(resource, client.clientId);
    if (params.resource !== undefined && this.#audienceOf(params.resource, client.clientId) !== audience) {
      refuse('the requested resource is not the asserted one');
    }
    return { subject, resource, scopes: this.#parts.scopes.known(scope) };
  }

  #audienceOf(resource: string, clientId: string): string {
    try {
      return this.#parts.resources.audienceOf(resource, clientId);
    } catch {
      return refuse('resource is not one of this front door, or not one for this client');
    }
  }

  /** The scopes that were requested, asserted and configured. A scope with `max_age` also needs a recent sign-in. */
  #grantedOf(
    asserted: readonly string[],
    requested: string | undefined,
    settings: AssertionIssuer,
    { auth_time: authTime }: JWTPayload,
  ): readonly string[] {
    const { scopes, clock } = this.#parts;
    const asked = new Set(requested === undefined ? asserted : requested.split(' '));
    const age = typeof authTime === 'number' ? clock() / 1000 - authTime : Infinity;
    // A time in the future, in milliseconds for example, would never be old.
    const ageSeconds = age < -CLOCK_TOLERANCE_SECONDS ? Infinity : age;
    const granted = asserted.filter(
      (name) =>
        asked.has(name) &&
        settings.scopes.includes(name) &&
        ageSeconds <= (scopes.maxAgeSeconds([name]) ?? Infinity) + CLOCK_TOLERANCE_SECONDS,
    );
    return granted.length > 0 ? granted : refuse('no scope is asked for, asserted and configured');
  }

  /** In one atomic step, after everything else: of two replicas, only one accepts it. */
  async #useUp({ jti, iat = 0 }: JWTPayload, { name }: AssertionIssuer): Promise<void> {
    const id = hash('sha256', lengthPrefixed([name, String(jti)]), 'base64url');
    const acceptedUntil = (iat + MAX_AGE_SECONDS + 2 * CLOCK_TOLERANCE_SECONDS) * 1000;
    const isFirst = await this.#parts.store.firstSeen(`assertion ${id}`, acceptedUntil, name);
    if (!isFirst) refuse('jti was used already');
  }
}

function subjectIn(sub: unknown): string {
  try {
    requireSubject(sub);
    return sub;
  } catch (error) {
    return refuse(reasonOf(error));
  }
}

/** RFC 7800 §3.1: an assertion that names a key counts only with a proof for that key. */
export function requirePossession({ cnf }: JWTPayload, thumbprint: string | undefined): void {
  if (cnf === undefined) return;
  if (thumbprint === undefined || ownMember(cnf, 'jkt') !== thumbprint)
    refuse('the client does not prove the key of cnf');
}

function refuse(why: string): never {
  // Clients learn that, the log why: oidc-provider sends the description of the error, which has no detail.
  throw new errors.InvalidGrant(why);
}
