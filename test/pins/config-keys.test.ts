import { expect, test } from 'vitest';
import gateway from '../../schema/gateway.schema.json' with { type: 'json' };
import policy from '../../schema/policy.schema.json' with { type: 'json' };
import { keysOf, type Schema } from './keys-of.ts';

/** Every key that an operator may have written: `!` must be there, `*` is a name of their own, `[]` a list. */
const gatewayKeys = `
public_url!
listen
admin
admin.listen!
admin.hosts
admin.token
tls
tls.cert!
tls.key!
tls.client_ca
trusted_proxies
certificate_proxies
forward_auth
forward_auth.listen!
forward_auth.trusted
console
console.grafana
authorization_servers
authorization_servers.*.issuer!
authorization_servers.*.backchannel
authorization_servers.*.jwt
authorization_servers.*.jwt.algorithms!
authorization_servers.*.jwt.types
authorization_servers.*.jwt.jwks
authorization_servers.*.introspection
authorization_servers.*.introspection.client_id!
authorization_servers.*.introspection.client_secret
authorization_servers.*.introspection.client_auth
authorization_servers.*.introspection.client_key
authorization_servers.*.introspection.client_key_id
authorization_servers.*.introspection.endpoint
authorization_servers.*.introspection.cache
authorization_servers.*.introspection.prefix
authorization_servers.*.introspection.response
authorization_servers.*.introspection.algorithms
authorization_servers.*.introspection.audience
authorization_servers.*.clock_tolerance
authorization_servers.*.timeout
authorization_servers.*.stale
front_door
front_door.issuer!
front_door.listen
front_door.backchannel
front_door.keys
front_door.identity_providers!
front_door.identity_providers.*.issuer!
front_door.identity_providers.*.backchannel
front_door.identity_providers.*.client_id!
front_door.identity_providers.*.client_secret
front_door.identity_providers.*.client_auth
front_door.identity_providers.*.client_key
front_door.identity_providers.*.client_key_id
front_door.identity_providers.*.scopes
front_door.identity_providers.*.domains
front_door.identity_providers.*.claims
front_door.clients
front_door.clients.refresh
front_door.clients.metadata_documents
front_door.clients.document_addresses
front_door.clients.registration
front_door.clients.registration.redirect_uris!
front_door.clients.registration.initial_access_token
front_door.clients.registration.lifetime
front_door.clients.registered
front_door.clients.registered.*.name
front_door.clients.registered.*.client_secret
front_door.clients.registered.*.redirect_uris!
front_door.clients.registered.*.refresh
front_door.scopes!
front_door.scopes.*.title!
front_door.scopes.*.lifetime
front_door.scopes.*.max_age
front_door.tokens
front_door.tokens.format
front_door.tokens.lifetime
front_door.assertions
front_door.assertions.*.issuer!
front_door.assertions.*.backchannel
front_door.assertions.*.provider
front_door.assertions.*.clients!
front_door.assertions.*.scopes!
front_door.assertions.*.claims
scopes
policies
session_key
shared
on_store_failure
allowed_hosts
allowed_origins
limits
limits.request_body
limits.request_headers
limits.rate
limits.rate.requests!
limits.rate.per!
limits.rate.burst
limits.failures
limits.failures.requests!
limits.failures.per!
limits.failures.burst
log
log.level
log.decisions
log.file
telemetry
telemetry.otlp!
telemetry.service_name
telemetry.sample
telemetry.headers
routes!
routes[].name!
routes[].path!
routes[].protocol
routes[].resource
routes[].resource.name
routes[].resource.scopes_supported
routes[].resource.documentation
routes[].resource.policy_uri
routes[].resource.tos_uri
routes[].authorization_servers
routes[].audience
routes[].tokens
routes[].opaque_tokens
routes[].policy
routes[].methods
routes[].public
routes[].upgrade
routes[].below
routes[].query
routes[].first_challenge
routes[].refusals
routes[].refusals.final
routes[].keepalive
routes[].rate
routes[].rate.requests!
routes[].rate.per!
routes[].rate.burst
routes[].dpop
routes[].dpop.required
routes[].dpop.nonce
routes[].dpop.algorithms
routes[].dpop.proof_lifetime
routes[].revalidate
routes[].upstream!
routes[].upstream.url!
routes[].upstream.identity
routes[].upstream.identity.signed
routes[].upstream.identity.signed.header!
routes[].upstream.identity.signed.audience
routes[].upstream.identity.signed.claims
routes[].upstream.token
routes[].upstream.exchange
routes[].upstream.exchange.server
routes[].upstream.exchange.client_id
routes[].upstream.exchange.client_secret
routes[].upstream.exchange.client_auth
routes[].upstream.exchange.client_key
routes[].upstream.exchange.client_key_id
routes[].upstream.exchange.endpoint
routes[].upstream.exchange.audience
routes[].upstream.exchange.resource
routes[].upstream.exchange.scope
routes[].upstream.exchange.token_type
routes[].upstream.exchange.subject_token_type
routes[].upstream.exchange.actor
routes[].upstream.allow_response_headers
routes[].upstream.timeouts
routes[].upstream.timeouts.connect
routes[].upstream.timeouts.response
`;

function lines(keys: readonly string[]): string {
  return `\n${keys.join('\n')}\n`;
}

test('the keys of gateway.yaml', () => {
  expect(lines(keysOf(gateway as Schema))).toBe(gatewayKeys);
});

test('the keys of a policy', () => {
  expect(keysOf(policy as Schema, 1).join(' ')).toBe(
    'scope claims any all not max_lifetime because mode tools resources prompts methods lists lock',
  );
});

test.for([
  [
    'an entry of tools and of prompts',
    'call',
    'scope claims any all not max_lifetime because arguments after never_after quota',
  ],
  [
    'an entry of resources and of methods',
    'listed',
    'scope claims any all not max_lifetime because after never_after quota',
  ],
  ['`after`', 'after', 'tool! within! same by'],
  ['`never_after`', 'never_after', 'tool! within! same by'],
  ['a quota', 'limit', 'count sum at_most integer per! by'],
  [
    'the predicates of a claim',
    'value',
    'equals one_of contains below at_most above at_least matches present not integer',
  ],
])('the keys of %s', ([, name, keys]) => {
  const { $defs } = policy as Schema;
  expect(keysOf({ $ref: `#/$defs/${name}`, ...($defs !== undefined && { $defs }) }, 1).join(' ')).toBe(keys);
});
