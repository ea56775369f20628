import { expect, test } from 'vitest';
import gateway from '../../schema/gateway.schema.json' with { type: 'json' };
import policy from '../../schema/policy.schema.json' with { type: 'json' };
import { keysOf, type Schema } from './keys-of.ts';

/** Every key that an operator may have written: `!` must be there, `*` is a name of their own, `[]` a list. */
const gatewayKeys = `
public_url!
listen
admin
authorization_servers
authorization_servers.*.issuer!
authorization_servers.*.backchannel
authorization_servers.*.jwt
authorization_servers.*.jwt.algorithms!
authorization_servers.*.jwt.types
authorization_servers.*.jwt.jwks
authorization_servers.*.introspection
authorization_servers.*.introspection.client_id!
authorization_servers.*.introspection.client_secret!
authorization_servers.*.introspection.client_auth
authorization_servers.*.introspection.endpoint
authorization_servers.*.introspection.cache
authorization_servers.*.introspection.audience
authorization_servers.*.clock_tolerance
authorization_servers.*.timeout
scopes
policies
session_key
allowed_hosts
allowed_origins
limits
limits.request_body
limits.request_headers
log
log.level
log.decisions
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
routes[].policy
routes[].methods
routes[].public
routes[].upgrade
routes[].keepalive
routes[].revalidate
routes[].upstream!
routes[].upstream.url!
routes[].upstream.identity
routes[].upstream.token
routes[].upstream.exchange
routes[].upstream.exchange.server
routes[].upstream.exchange.client_id
routes[].upstream.exchange.client_secret
routes[].upstream.exchange.client_auth
routes[].upstream.exchange.endpoint
routes[].upstream.exchange.audience
routes[].upstream.exchange.resource
routes[].upstream.exchange.scope
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
    'scope claims any all not max_lifetime mode tools resources prompts methods lists',
  );
});

test.for([
  ['an entry of tools and of prompts', 'call', 'scope claims any all not max_lifetime arguments'],
  ['an entry of resources and of methods', 'listed', 'scope claims any all not max_lifetime'],
  [
    'the predicates of a claim',
    'value',
    'equals one_of contains below at_most above at_least matches present not integer',
  ],
])('the keys of %s', ([, name, keys]) => {
  const { $defs } = policy as Schema;
  expect(keysOf({ $ref: `#/$defs/${name}`, ...($defs !== undefined && { $defs }) }, 1).join(' ')).toBe(keys);
});
