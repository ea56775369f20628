import { isObject } from '../../core/lib/json/own-member.ts';
import type { RevocationTarget } from './sources.ts';
import type { RevokedTokens } from './revoked.ts';
import { emailDigest, providerSession, subjectOf } from '../../tokens/front-door-subject.ts';
import { lowerCase } from '../../core/lib/ascii.ts';

/** The tokens that a subject identifier (RFC 9493) names. */
export type NamedTokens = { readonly kind: 'tokens'; readonly tokens: readonly RevokedTokens[] } | NoTokens;

interface NoTokens {
  /** No part of it is known here, its issuer is none that the source may revoke, or it is no subject identifier. */
  readonly kind: 'not_understood' | 'foreign' | 'malformed';
  readonly why: string;
}

interface TargetTokens {
  readonly target: RevocationTarget;
  readonly tokens: RevokedTokens;
}

/**
 * The tokens of a client, or of a client for one subject.
 *
 * @param issuer `iss` of the tokens.
 */
export function clientTokens(
  { client, subject, issuer }: { readonly client: string; readonly subject?: string; readonly issuer: string },
  targets: readonly RevocationTarget[],
): NamedTokens {
  if (!isName(client) || !(subject === undefined || isName(subject))) return malformed('a name is empty or too long');
  const reading = ofIssuer(issuer, targets.filter(hasClients), ({ tokenIssuer }) => ({
    issuer: tokenIssuer,
    client,
    ...(subject !== undefined && { subject }),
  }));
  return reading.kind === 'named' ? { kind: 'tokens', tokens: reading.named.map(({ tokens }) => tokens) } : reading;
}

/** Identity providers and platforms have clients of their own, which the tokens of the front door do not name. */
export function hasClients({ isProvider, isWorkload }: RevocationTarget): boolean {
  return !isProvider && isWorkload !== true;
}

/** {@link NamedTokens}, before the targets are left out. */
type SubjectReading = { readonly kind: 'named'; readonly named: readonly TargetTokens[] } | NoTokens;

type Subject = Readonly<Record<string, unknown>>;

/** The longest name that is kept: of each kind, far more than any provider has. */
const MAX_LENGTH = 1024;
/** RFC 9493 §3.2.8: aliases are one subject. More are a mistake. */
const MAX_ALIASES = 32;

/**
 * The tokens that a subject identifier names.
 *
 * @param targets Those that the source may revoke, first those whose people it speaks of.
 * @param critical Members of a complex subject that must be understood, SSF 1.0 §7.1.2.
 */
export function namedTokens(
  subject: unknown,
  targets: readonly RevocationTarget[],
  critical: readonly string[] = [],
): NamedTokens {
  const reading = readSubject(subject, targets, critical);
  return reading.kind === 'named' ? { kind: 'tokens', tokens: reading.named.map(({ tokens }) => tokens) } : reading;
}

function readSubject(
  subject: unknown,
  targets: readonly RevocationTarget[],
  critical: readonly string[],
): SubjectReading {
  if (!isObject(subject)) return malformed('the subject is not an object');
  const format = formatOf(subject);
  if (format === undefined) return malformed('the subject has no format');
  return format === 'complex' ? complex(subject, targets, critical) : simple(format, subject, targets);
}

/** Before SSF 1.0, as Google still sends it, `subject_type` named the format, and nothing a complex one. */
function formatOf(subject: Subject): string | undefined {
  const { format = subject['subject_type'] } = subject;
  if (typeof format === 'string') return format.replace(/^(?:iss-sub|id_token_claims)$/, 'iss_sub');
  const isComplex = ['user', 'session', 'application'].some((member) => isObject(subject[member]));
  return format === undefined && isComplex ? 'complex' : undefined;
}

function simple(format: string, subject: Subject, targets: readonly RevocationTarget[]): SubjectReading {
  switch (format) {
    case 'iss_sub': {
      const { iss, sub } = subject;
      if (!isName(iss) || !isName(sub)) return malformed('iss or sub of the subject is not a text');
      return ofIssuer(iss, targets, (target) => withSubject(target, sub));
    }
    case 'opaque': {
      const { id } = subject;
      if (!isName(id)) return malformed('id of the subject is not a text');
      return named(targets.slice(0, 1), (target) => withSubject(target, id));
    }
    case 'email': {
      const { email } = subject;
      if (!isName(email) || !email.includes('@')) return malformed('email of the subject is not an address');
      const ofPeople = targets.filter(({ isWorkload }) => isWorkload !== true);
      return named(ofPeople, (target) => withEmail(target, lowerCase(email)));
    }
    case 'jwt_id': {
      const { iss, jti } = subject;
      if (!isName(iss) || !isName(jti)) return malformed('iss or jti of the subject is not a text');
      // A token of an identity provider comes here never.
      const issuing = targets.filter(({ isProvider }) => !isProvider);
      return ofIssuer(iss, issuing, ({ tokenIssuer: issuer }) => ({ issuer, token: jti }));
    }
    case 'aliases': {
      const { identifiers } = subject;
      if (!Array.isArray(identifiers) || identifiers.length === 0 || identifiers.length > MAX_ALIASES)
        return malformed('identifiers of the subject is not a list of aliases');
      return anyOf(identifiers.map((alias) => aliasOf(alias, targets)));
    }
    default:
      return notUnderstood(`the format ${JSON.stringify(format.slice(0, 80))}`);
  }
}

/** RFC 9493 §3.2.8: an alias is no list of aliases. */
function aliasOf(alias: unknown, targets: readonly RevocationTarget[]): SubjectReading {
  const format = isObject(alias) ? formatOf(alias) : undefined;
  if (!isObject(alias) || format === undefined) return malformed('an alias of the subject has no format');
  if (format === 'aliases' || format === 'complex') return malformed(`an alias of the subject is ${format}`);
  return simple(format, alias, targets);
}

/**
 * SSF 1.0 §4: every member must match, and an absent one matches everything. A member that is not understood is left
 * out where `user` or `session` remains: then more is revoked than was asked, never less.
 */
function complex(subject: Subject, targets: readonly RevocationTarget[], critical: readonly string[]): SubjectReading {
  const user = subject['user'] === undefined ? undefined : userOf(subject['user'], targets);
  const session = subject['session'] === undefined ? undefined : sessionOf(subject['session'], targets);
  const application = subject['application'] === undefined ? undefined : applicationOf(subject['application'], targets);
  const isUnderstood = (member: string): boolean =>
    (member === 'user' && user?.kind === 'named') ||
    (member === 'session' && session?.kind === 'named') ||
    // Beside a session it is left out.
    (member === 'application' && application?.kind === 'named' && session === undefined);
  const missing = Object.keys(subject).find((member) => critical.includes(member) && !isUnderstood(member));
  if (missing !== undefined) return malformed(`the critical member ${missing} of the subject is not understood`);
  for (const part of [user, session, application])
    if (part?.kind === 'malformed' || part?.kind === 'foreign') return part;
  if (session?.kind !== 'named') {
    if (user === undefined && session === undefined)
      return application ?? notUnderstood('a complex subject without user, session and application');
    if (user?.kind !== 'named' || application?.kind !== 'named') return user ?? session ?? notUnderstood('no subject');
    return { kind: 'named', named: user.named.map((each) => withApplication(each, application.named)) };
  }
  if (user?.kind !== 'named') return session;
  const both = user.named.flatMap(({ target, tokens }) => {
    const own = session.named.find((entry) => entry.target === target)?.tokens;
    const { session: sid, token } = own ?? {};
    return {
      target,
      tokens: { ...tokens, ...(sid !== undefined && { session: sid }), ...(token !== undefined && { token }) },
    };
  });
  // A session that is one token is ended as such, whatever its `iat`.
  return { kind: 'named', named: [...session.named.filter(({ tokens }) => tokens.token !== undefined), ...both] };
}

function userOf(user: unknown, targets: readonly RevocationTarget[]): SubjectReading {
  const format = isObject(user) ? formatOf(user) : undefined;
  return isObject(user) && format !== undefined ? simple(format, user, targets) : malformed('user has no format');
}

function sessionOf(session: unknown, targets: readonly RevocationTarget[]): SubjectReading {
  if (!isObject(session)) return malformed('session of the subject is not an object');
  const format = formatOf(session);
  if (format === 'jwt_id') return simple(format, session, targets);
  if (format !== 'opaque') return notUnderstood('the format of session');
  const { id } = session;
  if (!isName(id)) return malformed('id of session is not a text');
  return named(targets, ({ name, tokenIssuer: issuer, isProvider }) => {
    return { issuer, session: isProvider ? providerSession(name, id) : id };
  });
}

/** A client: `opaque` with its id, or `iss_sub`. */
function applicationOf(application: unknown, targets: readonly RevocationTarget[]): SubjectReading {
  if (!isObject(application)) return malformed('application of the subject is not an object');
  const format = formatOf(application);
  const own = targets.filter(hasClients);
  const client = format === 'iss_sub' ? application['sub'] : application['id'];
  if (format !== 'iss_sub' && format !== 'opaque') return notUnderstood('the format of application');
  if (!isName(client)) return malformed('application of the subject names no client');
  const tokensOf = ({ tokenIssuer: issuer }: RevocationTarget): RevokedTokens => ({ issuer, client });
  if (format === 'opaque')
    return own.length === 0 ? notUnderstood('an application of a provider') : named(own.slice(0, 1), tokensOf);
  const { iss } = application;
  return isName(iss) ? ofIssuer(iss, own, tokensOf) : malformed('iss of application is not a text');
}

/** Both, at one issuer of tokens. Of another one all tokens of the user: more than was asked, never less. */
function withApplication(user: TargetTokens, applications: readonly TargetTokens[]): TargetTokens {
  const { client } = applications.find(({ target }) => target === user.target)?.tokens ?? {};
  return client === undefined || user.tokens.token !== undefined
    ? user
    : { ...user, tokens: { ...user.tokens, client } };
}

function ofIssuer(
  iss: string,
  targets: readonly RevocationTarget[],
  tokensOf: (target: RevocationTarget) => RevokedTokens,
): SubjectReading {
  // A provider and an authorization server may have one issuer.
  const known = targets.filter(({ issuers }) => issuers.includes(iss));
  if (known.length > 0) return named(known, tokensOf);
  return { kind: 'foreign', why: `the issuer ${JSON.stringify(iss.slice(0, 200))}, which the source may not revoke` };
}

function named(
  targets: readonly RevocationTarget[],
  tokensOf: (target: RevocationTarget) => RevokedTokens,
): SubjectReading {
  return { kind: 'named', named: targets.map((target) => ({ target, tokens: tokensOf(target) })) };
}

function withSubject(target: RevocationTarget, sub: string): RevokedTokens {
  const { name, tokenIssuer: issuer, isProvider, isWorkload } = target;
  if (isWorkload === true) return { issuer, subject: subjectOf('workload', name, sub) };
  return { issuer, subject: isProvider ? subjectOf('provider', name, sub) : sub };
}

function withEmail({ name, tokenIssuer: issuer, isProvider }: RevocationTarget, email: string): RevokedTokens {
  return isProvider ? { issuer, emailDigest: emailDigest(name, email) } : { issuer, email };
}

function anyOf(all: readonly SubjectReading[]): SubjectReading {
  const broken = all.find(({ kind }) => kind === 'malformed');
  if (broken !== undefined) return broken;
  const parts = all.flatMap((each) => (each.kind === 'named' ? each.named : []));
  return parts.length > 0 ? { kind: 'named', named: parts } : (all[0] ?? notUnderstood('no alias'));
}

function malformed(why: string): NoTokens {
  return { kind: 'malformed', why };
}

function notUnderstood(why: string): NoTokens {
  return { kind: 'not_understood', why };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_LENGTH;
}
