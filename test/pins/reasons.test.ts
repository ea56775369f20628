import { expect, test } from 'vitest';
import { refusals } from '../../src/capabilities/all.ts';
import { words } from '../support/words.ts';

/** What operators alert on and clients see: reason, HTTP status, RFC 6750 error, JSON-RPC code, message. */
const pinned = `
request.malformed                 400  -                   -32600  Bad request
request.target                    400  -                   -32600  Bad request
request.path                      400  -                   -32600  Bad request
request.duplicate_header          400  -                   -32600  Bad request
request.framing                   400  -                   -32600  Bad request
request.certificate               400  -                   -32600  Bad request
request.credentials               400  -                   -32600  Bad request
request.header_too_large          431  -                   -       Request header fields too large
request.timeout                   408  -                   -       Request timeout
request.expectation               417  -                   -       Expectation failed
request.host                      403  -                   -       Host not allowed
request.origin                    403  -                   -       Origin not allowed
route.unknown                     404  -                   -       Not found
route.method                      405  -                   -       Method not allowed
route.query                       400  -                   -32600  Query not supported here
route.upgrade                     400  -                   -32600  Upgrade not supported here
credentials.missing               401  invalid_token       -       A valid access token is required
token.malformed                   401  invalid_token       -       A valid access token is required
token.form                        401  invalid_token       -       A valid access token is required
token.issuer                      401  invalid_token       -       A valid access token is required
token.type                        401  invalid_token       -       A valid access token is required
token.algorithm                   401  invalid_token       -       A valid access token is required
token.key                         401  invalid_token       -       A valid access token is required
token.signature                   401  invalid_token       -       A valid access token is required
token.claims                      401  invalid_token       -       A valid access token is required
token.expired                     401  invalid_token       -       A valid access token is required
token.not_yet_valid               401  invalid_token       -       A valid access token is required
token.inactive                    401  invalid_token       -       A valid access token is required
token.revoked                     401  invalid_token       -       A valid access token is required
token.too_old                     401  invalid_token       -       A valid access token is required
token.audience                    401  invalid_token       -       A valid access token is required
token.sender_constrained          401  invalid_token       -       A valid access token is required
token.unbound                     401  invalid_token       -       A valid access token is required
token.binding                     401  invalid_token       -       A valid access token is required
proof.missing                     401  invalid_dpop_proof  -       A valid proof of possession is required
proof.invalid                     401  invalid_dpop_proof  -       A valid proof of possession is required
proof.nonce                       401  use_dpop_nonce      -       A valid proof of possession is required
proof.replayed                    401  invalid_dpop_proof  -       A valid proof of possession is required
failures.exceeded                 429  -                   -       Too many requests
rate.exceeded                     429  -                   -       Too many requests
scope.insufficient                403  insufficient_scope  -       Insufficient scope
authentication.insufficient       401  insufficient_user_authentication  -       A different or more recent authentication is required
claim.denied                      403  -                   -       Access denied
actor.denied                      403  -                   -       Access denied
argument.denied                   403  -                   -       Access denied
variable.denied                   403  -                   -       Access denied
lifetime.exceeded                 403  -                   -       Access denied
alternatives.exhausted            403  -                   -       Access denied
exclusion.matched                 403  -                   -       Access denied
tool.unlisted                     403  -                   -       Access denied
resource.unlisted                 403  -                   -       Access denied
prompt.unlisted                   403  -                   -       Access denied
method.unlisted                   403  -                   -       Access denied
request.unlisted                  403  -                   -       Access denied
tool.changed                      403  -                   -       Access denied
prompt.changed                    403  -                   -       Access denied
lock.unverified                   503  -                   -       Temporarily unavailable
arguments.invalid                 400  -                   -32602  Invalid arguments
policy.error                      403  -                   -       Access denied
history.missing                   403  -                   -       Access denied
history.forbidden                 403  -                   -       Access denied
quota.exceeded                    429  -                   -       Too many requests
history.full                      503  -                   -       Temporarily unavailable
approval.required                 403  -                   -       Access denied
approval.denied                   403  -                   -       Access denied
approval.full                     503  -                   -       Temporarily unavailable
approval.body                     415  -                   -       Unsupported media type
approval.size                     413  -                   -       Too large to be approved
credential.missing                403  -                   -       Access denied
decision_point.denied             403  -                   -       Access denied
decision_point.unavailable        503  -                   -       Temporarily unavailable
upstream.busy                     503  -                   -       Temporarily unavailable
calls.no_room                     503  -                   -       Temporarily unavailable
body.too_large                    413  -                   -32600  Request body too large
body.no_room                      503  -                   -       Temporarily unavailable
body.type                         415  -                   -32600  Unsupported media type
body.encoding                     415  -                   -32600  Unsupported content encoding
body.incomplete                   400  -                   -32700  Parse error
body.malformed                    400  -                   -32700  Parse error
body.ambiguous                    400  -                   -32600  Invalid request
body.message                      400  -                   -32600  Invalid request
message.header_mismatch           400  -                   -32020  The headers contradict the message
message.version                   400  -                   -32022  Unsupported protocol version
message.meta                      400  -                   -32602  Invalid params
message.capability                400  -                   -32021  Missing required client capability
message.method                    404  -                   -32601  Method not found
session.unknown                   404  -                   -       Session not found
handle.unknown                    404  -                   -32602  Not found
forward_auth.peer                 403  -                   -       Access denied
forward_auth.request              400  -                   -32600  Bad request
forward_auth.body                 403  -                   -       Access denied
authorization_server.unavailable  503  -                   -       Temporarily unavailable
shared_store.unavailable          503  -                   -       Temporarily unavailable
exchange.refused                  502  -                   -       Bad gateway
exchange.invalid                  502  -                   -       Bad gateway
exchange.scope                    502  -                   -       Bad gateway
exchange.insufficient_scope       403  insufficient_scope  -       Insufficient scope
upstream.unreachable              502  -                   -       Bad gateway
upstream.invalid                  502  -                   -       Bad gateway
upstream.timeout                  504  -                   -       Gateway timeout
gateway.error                     500  -                   -       Internal error
`;

test('reasons and their answers', () => {
  const rows = Object.entries(refusals).map(([reason, { status, error = '-', code = '-', message }]) =>
    [reason.padEnd(32), status, error.padEnd(18), String(code).padEnd(6), message].join('  '),
  );
  // In whatever order the folders have them.
  expect(rows.toSorted()).toEqual(pinned.trim().split('\n').toSorted());
});

test('the reasons for which a policy refuses a call whatever token the caller gets', () => {
  expect(
    Object.keys(refusals)
      .filter((reason) => refusals[reason]?.isFinal)
      .toSorted(),
  ).toEqual(
    words(`
    claim.denied actor.denied argument.denied arguments.invalid variable.denied alternatives.exhausted exclusion.matched tool.unlisted resource.unlisted
    prompt.unlisted method.unlisted request.unlisted tool.changed prompt.changed policy.error history.missing
    history.forbidden quota.exceeded approval.required approval.denied approval.size credential.missing decision_point.denied`).toSorted(),
  );
});

test('each message is one line that every client can parse, without the cause', () => {
  for (const { message } of Object.values(refusals)) expect(message).toMatch(/^[A-Za-z ]+$/);
});
