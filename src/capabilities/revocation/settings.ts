import type { EventSourceKeys, GatewayKeys } from '../../../schema/validators.js';
import { issuersOf } from '../../core/model/authorization-server.ts';
import type { EventSource, RevocationEndpoint, RevocationSettings, RevocationTarget } from './sources.ts';
import { compilePolicy } from '../../core/policy/compile.ts';
import { serverIn } from '../../tokens/servers/settings.ts';
import type { Field } from '../../core/config/field.ts';
import type { ConfigReferents } from '../capability.ts';
import { ownEndpoint, requireOwnAudience } from '../own-endpoint.ts';
import { entryOf } from '../../core/config/values.ts';

type RevocationKeys = NonNullable<GatewayKeys['revocation']>;

/** `revocation`. Problems are reported to the fields, and the result is then not used. */
export function readRevocation(field: Field<RevocationKeys>, referents: ConfigReferents): RevocationSettings {
  const targets = targetsOf(referents);
  const sources = new Map<string, EventSource>();
  const claim = (path: string, owner: string, at: Field): void =>
    referents.claimPath({ path, isApart: false, owner, at });
  for (const [name, source] of field.get('events').entries()) {
    const read = readSource(name, source, referents.publicUrl, targets);
    if (read.path !== undefined) claim(read.path, `revocation.events.${name}`, source.get('path'));
    sources.set(name, read);
  }
  const place = field.get('endpoint').given();
  const endpoint = place && readEndpoint(place, referents, targets);
  if (endpoint !== undefined) claim(endpoint.route.path, 'revocation.endpoint', field.get('endpoint').get('path'));
  return {
    ...field.settings(),
    sources,
    endpoint,
    commandTargets: [...targets.values(), ...workloadsOf(referents)],
  };
}

function readSource(
  name: string,
  field: Field<EventSourceKeys>,
  publicUrl: string,
  targets: ReadonlyMap<string, RevocationTarget>,
): EventSource {
  const { endpointOrigins, ...settings } = field.settings();
  const { delivery, issuer, stream } = settings;
  const isPush = delivery === 'push';
  const [path, authorization, token] = [field.get('path'), field.get('authorization'), field.get('token')];
  if (isPush && !path.present) field.addProblem('missing key: path (needed with delivery: push)', 'key');
  for (const key of [path, authorization]) {
    if (!isPush && key.present) key.addProblem('applies only with delivery: push', 'key');
  }
  // A stream that is pushed to can be managed elsewhere.
  if (!token.present && (!isPush || (field.get('stream').present && stream === 'create')))
    field.addProblem(`missing key: token (needed with ${isPush ? 'stream: create' : 'delivery: poll'})`, 'key');
  const streamId = field.get('stream_id');
  if (streamId.present && stream !== 'existing') streamId.addProblem('applies only with stream: existing', 'key');
  return {
    ...settings,
    name,
    audience: settings.audience ?? publicUrl,
    targets: withIssuer(issuer, readTargets(field, targets)),
    endpointOrigins: new Set([...(URL.canParse(issuer) ? [new URL(issuer).origin] : []), ...endpointOrigins]),
  };
}

/** A transmitter may name its people by its own `iss`, which differs from the `iss` of their tokens. */
function withIssuer(issuer: string, [first, ...others]: readonly RevocationTarget[]): readonly RevocationTarget[] {
  if (first === undefined) return [];
  return [{ ...first, issuers: [...new Set([...first.issuers, issuer])] }, ...others];
}

function readEndpoint(
  field: Field<NonNullable<RevocationKeys['endpoint']>>,
  { publicUrl, servers, routes }: ConfigReferents,
  targets: ReadonlyMap<string, RevocationTarget>,
): RevocationEndpoint {
  const { path, scope, audience = publicUrl + path } = field.settings();
  const trusted = field.get('authorization_servers');
  if (!trusted.present && servers.size !== 1)
    field.addProblem('missing key: authorization_servers (it has no default where several are defined)', 'key');
  const authorizationServers = trusted.present ? trusted.list(serverIn(servers)) : [...servers.values()];
  requireOwnAudience(field.get('audience'), audience, { routes, risk: 'revoke' });
  return {
    route: ownEndpoint({
      name: 'revocation',
      path,
      methods: new Set(['POST']),
      firstChallenge: 'policy',
      authorizationServers,
      scopePrefix: authorizationServers[0]?.scopePrefix,
      audiences: [audience],
      policy: compilePolicy('revocation', { scope }),
    }),
    targets: readTargets(field, targets),
  };
}

function readTargets(
  field: Field<Pick<EventSourceKeys, 'subjects' | 'may_revoke'> | undefined>,
  targets: ReadonlyMap<string, RevocationTarget>,
): readonly RevocationTarget[] {
  const targetIn = entryOf(targets, 'is neither an authorization server nor an identity provider');
  const subjects = field.get('subjects');
  if (!subjects.present && targets.size > 1)
    field.addProblem(`missing key: subjects (one of ${[...targets.keys()].join(', ')})`, 'key');
  const first = subjects.present ? subjects.read(targetIn) : [...targets.values()][0];
  const others = field.get('may_revoke').list(targetIn);
  return [...new Set([...(first === undefined ? [] : [first]), ...others])];
}

/** The platforms, whose workloads only an operator ends: a source speaks of people. */
function workloadsOf({ frontDoor }: ConfigReferents): readonly RevocationTarget[] {
  return Array.from(frontDoor?.workloads.values() ?? [], ({ name, issuer }) => ({
    name,
    issuers: [issuer],
    tokenIssuer: frontDoor?.issuer ?? '',
    isProvider: false,
    isWorkload: true,
  }));
}

function targetsOf({ servers, frontDoor }: ConfigReferents): ReadonlyMap<string, RevocationTarget> {
  const ofServers = Array.from(servers.values(), (server): [string, RevocationTarget] => [
    server.name,
    { name: server.name, issuers: issuersOf(server), tokenIssuer: server.issuer, isProvider: false },
  ]);
  const ofProviders = Array.from(
    frontDoor?.providers.values() ?? [],
    ({ name, issuer }): [string, RevocationTarget] => [
      name,
      { name, issuers: [issuer], tokenIssuer: frontDoor?.issuer ?? '', isProvider: true },
    ],
  );
  // People sign in at a provider that has the name of a server.
  return new Map([...ofServers, ...ofProviders]);
}
