// What ajv makes of the schemas beside it; `npm run schemas` writes it anew.
"use strict";
export const gateway = validate20;
const schema31 = {"$schema":"https://json-schema.org/draft/2020-12/schema","title":"gateway.yaml of Sallyport","description":"The configuration of one gateway. `${env:NAME}`, `${env:NAME:-default}` and `${file:/run/secrets/x}` work in any string value.","type":"object","additionalProperties":false,"required":["public_url","routes"],"properties":{"public_url":{"$ref":"#/$defs/origin","description":"The origin that clients use. Every URL that the gateway publishes is built from it, never from the Host header."},"listen":{"$ref":"#/$defs/address","description":"The address for clients, `host:port`; in a container `0.0.0.0:8080`. Default: 127.0.0.1:8080."},"admin":{"description":"The listener for /metrics, /healthz, /readyz and the console: an address, or a mapping with `listen`; `off` disables it. Default: 127.0.0.1:9090.","title":"an address such as 127.0.0.1:9090, a mapping such as { listen: 0.0.0.0:9090 }, or off","type":["object","string"],"pattern":"^off$|^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}","additionalProperties":false,"required":["listen"],"properties":{"listen":{"description":"The address, `host:port`, or `off`. A host name is resolved at start, and the listener is bound only to that address.","title":"an address such as 0.0.0.0:9090, or off","type":"string","pattern":"^off$|^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"},"hosts":{"description":"Host names of the listener for operators and programs, without port. Loopback names, IP addresses and names without a dot are always accepted. Any other Host is refused, except on /healthz. Default: none.","type":"array","uniqueItems":true,"items":{"$ref":"#/$defs/text"}},"token":{"description":"The token that callers off loopback must present, as `Authorization: Bearer TOKEN` or on the sign-in page, except for /healthz, /metrics and the status code of /readyz. Visible ASCII, at least 8 characters; use at least 16 random ones: `${file:/run/secrets/admin}`. Default: none, so that callers off loopback are refused.","type":"string"}}},"tls":{"description":"Serves HTTPS (TLS 1.2 and 1.3) at `listen`; requires an https public_url. Changed files are read again without a restart; a certificate and key that do not match change nothing. Default: plain HTTP.","type":"object","additionalProperties":false,"required":["cert","key"],"properties":{"cert":{"$ref":"#/$defs/text","description":"A PEM file, relative to this file: the certificate, then its chain."},"key":{"$ref":"#/$defs/text","description":"A PEM file: the private key of the certificate, without a passphrase."},"client_ca":{"$ref":"#/$defs/text","description":"Requests a certificate from clients, for certificate-bound tokens (RFC 8705): a PEM file of the accepted issuing authorities, or `any`, which also accepts self-signed certificates. Clients may connect without a certificate; one that fails verification is ignored. Default: no certificate is requested."}}},"trusted_proxies":{"description":"Addresses and networks of proxies in front of the gateway. From them, the gateway reads the client's address in `X-Forwarded-For`. Does not apply to certificates: see certificate_proxies. Default: none.","type":"array","uniqueItems":true,"items":{"title":"an address or a network such as 10.0.0.0/8","type":"string","pattern":"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"}},"certificate_proxies":{"description":"Addresses and networks of proxies from which the gateway reads the client's certificate in `Client-Cert` (RFC 9440), in requests and in forward-auth queries. Each proxy must verify the client's key in its TLS handshake, and set or remove that header on every path to the gateway. trusted_proxies and forward_auth.trusted never imply it. Default: none.","type":"array","uniqueItems":true,"items":{"title":"an address or a network such as 10.0.0.0/8","type":"string","pattern":"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"}},"forward_auth":{"description":"A separate listener where an existing proxy asks whether a request may pass (nginx auth_request, Traefik ForwardAuth, Caddy forward_auth, HAProxy, Envoy ext_authz), at /_sallyport/authorize. Must not be reachable for clients: the sender of the query chooses the request that is decided on. Default: off.","type":"object","additionalProperties":false,"required":["listen"],"properties":{"listen":{"$ref":"#/$defs/address","description":"The address for proxies, `host:port`, in plain HTTP: `127.0.0.1:8081`."},"trusted":{"description":"Addresses and networks of the proxies that may send queries; others get 403. Default: loopback.","type":"array","uniqueItems":true,"items":{"title":"an address or a network such as 10.0.0.0/8","type":"string","pattern":"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"}}}},"console":{"description":"What the console of the admin listener links to.","type":"object","additionalProperties":false,"properties":{"grafana":{"$ref":"#/$defs/text","description":"The URL of the dashboard for history, such as deploy/grafana/sallyport.json after its import. Default: no link."}}},"authorization_servers":{"description":"The authorization servers that routes may trust, each with a name of your choice.","type":"object","propertyNames":{"title":"a name of letters, digits, dots, dashes and underscores","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},"additionalProperties":{"$ref":"#/$defs/authorizationServer"}},"front_door":{"description":"An OAuth authorization server of our own, for MCP clients that the identity provider does not serve. People sign in at the identity provider. Routes trust it as `front_door` in their `authorization_servers`. Default: off.","type":"object","additionalProperties":false,"required":["issuer","identity_providers","scopes"],"properties":{"issuer":{"$ref":"#/$defs/plainUrl","description":"Its issuer identifier: a host name of its own, or a path below `public_url` that a public route of the gateway leads to. Everything that it publishes is built from it."},"listen":{"$ref":"#/$defs/address","description":"The address that it listens on, `host:port`, in plain HTTP. Default: 127.0.0.1:8090."},"backchannel":{"$ref":"#/$defs/plainUrl","description":"The base URL for calls from the gateway, if the front door runs on another host (compose): `http://front-door:8090`, with the path of the issuer. Default: `listen`."},"keys":{"$ref":"#/$defs/text","description":"A file for its secret, which the front door creates with mode 0600; a relative path starts at the folder of this file. Its signing keys change each day and derive from that secret. Default: derived from `session_key`, or, without one, random at each start."},"identity_providers":{"description":"The providers at which people sign in, each with a name of your choice. The name is part of the redirect URI and of the `sub` of tokens.","type":"object","minProperties":1,"propertyNames":{"title":"a name of letters, digits, dots, dashes and underscores","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},"additionalProperties":{"$ref":"#/$defs/identityProvider"}},"clients":{"description":"Which clients may ask for tokens. Default: none.","type":"object","additionalProperties":false,"properties":{"refresh":{"description":"Whether clients get refresh tokens. Each is used once. Default: false.","type":"boolean"},"metadata_documents":{"description":"Client identifiers that are URLs of client metadata documents: `https://claude.ai/**`. Default: none.","type":"array","uniqueItems":true,"items":{"title":"a URL in which * stands for one part and ** for any rest","type":"string","pattern":"^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}"}},"document_addresses":{"description":"Addresses and networks, besides public ones, from which documents may be fetched. Default: none.","type":"array","uniqueItems":true,"items":{"title":"an address or a network such as 10.0.0.0/8","type":"string","pattern":"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"}},"registration":{"description":"Dynamic client registration, RFC 7591. Default: off.","type":"object","additionalProperties":false,"required":["redirect_uris"],"properties":{"redirect_uris":{"description":"Redirect URIs that a client may register: `http://127.0.0.1:*/**`. `*` stands for one port or segment, `**` at the end for any rest of the path.","type":"array","minItems":1,"uniqueItems":true,"items":{"title":"a URL in which * stands for one part and ** for any rest","type":"string","pattern":"^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}"}},"initial_access_token":{"$ref":"#/$defs/text","description":"The token that a registration must present (RFC 7591 §3). Default: none, open to all."},"lifetime":{"$ref":"#/$defs/days","description":"How long a registration lives after its last use; without any use, at most a day. Default: 90d."}}},"registered":{"description":"Clients that you register, by client identifier.","type":"object","propertyNames":{"title":"a client identifier: visible ASCII","pattern":"^[!-~]+$"},"additionalProperties":{"$ref":"#/$defs/registeredClient"}}}},"scopes":{"description":"The scopes that clients may ask for. Each client may ask for every one.","type":"object","minProperties":1,"propertyNames":{"title":"a scope, RFC 6749 §3.3","pattern":"^(?!.*\\$\\{)[\\x21\\x23-\\x5B\\x5D-\\x7E]+$"},"additionalProperties":{"description":"A scope.","type":"object","additionalProperties":false,"required":["title"],"properties":{"title":{"$ref":"#/$defs/text","description":"What people read on the consent page."},"lifetime":{"$ref":"#/$defs/duration","description":"The longest lifetime of a token with this scope. Default: `tokens.lifetime`."},"max_age":{"$ref":"#/$defs/duration","description":"How long ago people may have signed in when they grant it. A refreshed token does not have it. Default: any time."}}}},"tokens":{"description":"Its access tokens.","type":"object","additionalProperties":false,"properties":{"format":{"description":"`opaque` tokens say nothing to clients, and end at once when they are revoked. `jwt`: at+jwt by RFC 9068, valid until they expire. Default: opaque.","title":"opaque or jwt","anyOf":[{"enum":["opaque","jwt"]},{"$ref":"#/$defs/placeholder"}]},"lifetime":{"$ref":"#/$defs/duration","description":"The lifetime of a token. Default: 15m."}}},"assertions":{"description":"Issuers of identity assertions: enterprise-managed authorization. Default: none.","type":"object","propertyNames":{"title":"a name of letters, digits, dots, dashes and underscores","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},"additionalProperties":{"$ref":"#/$defs/assertionIssuer"}}}},"scopes":{"description":"Broader scopes that imply narrower ones: `write: [read]`. Implications are transitive.","type":"object","propertyNames":{"title":"a scope, RFC 6749 §3.3","pattern":"^(?!.*\\$\\{)[\\x21\\x23-\\x5B\\x5D-\\x7E]+$"},"additionalProperties":{"$ref":"#/$defs/scopes"}},"policies":{"$ref":"#/$defs/text","description":"The folder of policies, relative to this file. Every NAME.yaml in it except NAME.test.yaml is the policy NAME. Default: ./policies."},"session_key":{"$ref":"#/$defs/text","description":"A secret of at least 32 random characters that binds MCP sessions to the user that began them, and from which the keys of signed identities are derived: `${env:SESSION_KEY}`. Must be the same for all replicas. Default: random at each start, which ends all sessions."},"shared":{"description":"A Redis or Valkey that replicas share: answers of authorization servers (introspection and exchange, encrypted under session_key), used proofs and rate counts. `rediss:` is TLS. Requires session_key. Default: each replica keeps its own.","title":"a URL such as redis://user:password@redis:6379/0","type":"string","pattern":"^rediss?://[^/]|\\$\\{(?:env|file):[^}]+\\}"},"on_store_failure":{"description":"The handling of a request whose proof cannot be checked for reuse because the shared store is unavailable: `closed` answers 503, `open` checks the proof against this replica's own memory. Default: closed.","title":"closed or open","anyOf":[{"enum":["closed","open"]},{"$ref":"#/$defs/placeholder"}]},"allowed_hosts":{"description":"Host names of the gateway, without port, in addition to public_url's and loopback. A request with any other Host gets 403 (DNS rebinding).","type":"array","uniqueItems":true,"items":{"title":"a host name without port","type":"string","pattern":"^(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])$|\\$\\{(?:env|file):[^}]+\\}"}},"allowed_origins":{"description":"Origins of web pages that may call, in addition to public_url's and loopback; any other origin gets 403. Answers to allowed origins have CORS headers.","type":"array","uniqueItems":true,"items":{"$ref":"#/$defs/origin"}},"limits":{"description":"Limits on requests and on how often callers may send them.","type":"object","additionalProperties":false,"properties":{"request_body":{"$ref":"#/$defs/size","description":"The maximum size of a body that the gateway must read (MCP). Other bodies are streamed without a limit. A body of either kind that brings less than 4 KiB in 30 s is refused (408). Default: 1MiB."},"request_headers":{"$ref":"#/$defs/size","description":"The maximum size of a request's header section. Default: 16KiB."},"rate":{"$ref":"#/$defs/rate","description":"The rate limit of each subject on each route. A token without subject counts for its client, a request without either for its address. Requests above the limit get 429 with Retry-After. Requests that are refused later count too, and on an mcp route each message. Default: off."},"failures":{"$ref":"#/$defs/rate","description":"The limit on different tokens of one address (an IPv6 /64) that authorization servers refuse. Above it the gateway answers 429 with Retry-After to new tokens from that address, without asking the servers. Tokens that the gateway checks itself, such as JWTs, are never delayed and do not count. Behind a proxy that is not in trusted_proxies all callers have one address. Default: { requests: 100, per: 1m }; `off` removes the limit."}}},"log":{"description":"The log: JSON lines on stdout.","type":"object","additionalProperties":false,"properties":{"level":{"description":"The lowest level that is logged. Default: info.","title":"debug, info, warn or error","anyOf":[{"enum":["debug","info","warn","error"]},{"$ref":"#/$defs/placeholder"}]},"decisions":{"description":"Which decisions are logged. Default: all.","title":"all or denials","anyOf":[{"enum":["all","denials"]},{"$ref":"#/$defs/placeholder"}]},"file":{"$ref":"#/$defs/text","description":"A file to which the gateway also appends each logged decision. The gateway creates it with mode 0600 and opens it again on SIGHUP. A relative path starts at the folder of this file. Default: none."}}},"telemetry":{"description":"Sends spans of requests to an OpenTelemetry collector. Default: no spans. With and without it, a client's trace context (`traceparent`, `tracestate`) is forwarded to upstreams.","type":"object","additionalProperties":false,"required":["otlp"],"properties":{"otlp":{"$ref":"#/$defs/plainUrl","description":"The collector's base URL, OTLP over HTTP (protobuf), such as http://collector:4318; spans are sent to `/v1/traces` below it."},"service_name":{"$ref":"#/$defs/text","description":"`service.name` of the spans. Default: sallyport."},"sample":{"description":"The fraction of traces that is recorded, from 0 to 1: of new traces, and of those with a client's sampled flag. If a client clears the flag, nothing is recorded. A trace that a peer in trusted_proxies samples is always recorded. Default: 1.","title":"a number from 0 to 1","anyOf":[{"type":"number","minimum":0,"maximum":1},{"$ref":"#/$defs/placeholder"}]},"headers":{"description":"Headers for the collector, such as `authorization: ${env:OTLP_AUTHORIZATION}`; values are secrets and never shown. Default: none.","type":"object","propertyNames":{"title":"a header name","pattern":"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},"additionalProperties":{"$ref":"#/$defs/text"}}}},"routes":{"description":"The routes. The longest matching path wins; a request that matches none gets 404.","type":"array","minItems":1,"items":{"$ref":"#/$defs/route"}}},"$defs":{"authorizationServer":{"description":"An authorization server. At least one of `jwt` and `introspection` is required to validate its tokens.","type":"object","additionalProperties":false,"required":["issuer"],"properties":{"issuer":{"$ref":"#/$defs/plainUrl","description":"Its issuer identifier, compared and advertised byte for byte; a trailing slash counts."},"backchannel":{"$ref":"#/$defs/plainUrl","description":"The base URL for calls from the gateway, if it differs from the issuer (compose, split DNS). The issuer does not change."},"jwt":{"description":"Accept JWT access tokens that the server signed, RFC 9068.","type":"object","additionalProperties":false,"required":["algorithms"],"properties":{"algorithms":{"$ref":"#/$defs/algorithms","description":"The only accepted signature algorithms. `none` and HMAC are refused."},"types":{"description":"Accepted `typ` header values. Default: at+jwt, JWT or absent.","type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/text"}},"jwks":{"$ref":"#/$defs/url","description":"The URL of its JWK Set. Default: `jwks_uri` of its RFC 8414 or OpenID Connect metadata."}}},"introspection":{"description":"Accept opaque tokens and introspect them at the server, RFC 7662.","type":"object","additionalProperties":false,"required":["client_id"],"properties":{"client_id":{"$ref":"#/$defs/text","description":"The gateway's client identifier at the server."},"client_secret":{"$ref":"#/$defs/text","description":"The gateway's client secret at the server, for `client_secret_basic` and `client_secret_post`. Use `${env:NAME}` or `${file:/run/secrets/name}` instead of the secret itself."},"client_auth":{"$ref":"#/$defs/clientAuth"},"client_key":{"$ref":"#/$defs/clientKey"},"client_key_id":{"$ref":"#/$defs/clientKeyId"},"endpoint":{"$ref":"#/$defs/url","description":"The introspection endpoint. Default: `introspection_endpoint` of its metadata."},"cache":{"$ref":"#/$defs/duration","description":"The longest time for which a positive answer is reused, never past `exp`. A negative answer is reused for the same time, but at most 5s. With `0s` the gateway asks every time. Default: 30s."},"prefix":{"title":"the beginning of a token: letters, digits and - . _ ~ + /","description":"The prefix of each opaque token of this server. The gateway sends tokens with this prefix only to this server, and sends it no other opaque token. For JWTs `iss` decides. If a route trusts several servers with `introspection`, each needs a prefix (see `opaque_tokens`). Default: none.","type":"string","pattern":"^[A-Za-z0-9._~+/-]+$|\\$\\{(?:env|file):[^}]+\\}"},"response":{"description":"`jwt` requests a signed answer and accepts no other: a JWT by RFC 9701 (`application/token-introspection+jwt`), or a phantom token (`application/jwt`). Only `active: false` and 204 need no signature. `token: phantom` sends the signed answer to an upstream. A phantom token is an access token that the upstream verifies like any other. A JWT by RFC 9701 is a statement to the gateway: its `aud` is `client_id`, it has no `exp` of its own, the claims are in `token_introspection`, and its `typ` shows that it is not an access token. An upstream that accepts it must check all of that, and trust the gateway not to send an old one. Default: json.","title":"json or jwt","anyOf":[{"enum":["json","jwt"]},{"$ref":"#/$defs/placeholder"}]},"algorithms":{"description":"The only accepted signature algorithms of signed answers; requires `response: jwt`. Default: those of `jwt`.","$ref":"#/$defs/algorithms"},"audience":{"description":"Whether an answer without `aud` is refused. Default: required.","title":"required or optional","anyOf":[{"enum":["required","optional"]},{"$ref":"#/$defs/placeholder"}]}}},"clock_tolerance":{"$ref":"#/$defs/duration","description":"The tolerance for `exp`, `nbf` and `iat`; at most 5m. Default: 5s."},"timeout":{"$ref":"#/$defs/duration","description":"The limit of one call to the server, from connecting to the last byte. Default: 5s."},"stale":{"$ref":"#/$defs/duration","description":"How long metadata and keys are used after the last successful fetch while the server is unavailable; at most 168h. After that, requests that need them get 503. Fresh ones are always used: 5m, for keys the time in their `Cache-Control` (1m to 1h). Default: 24h."}}},"route":{"description":"A path prefix, its access rules, and the upstream server.","type":"object","additionalProperties":false,"required":["name","path","upstream"],"properties":{"name":{"$ref":"#/$defs/name","description":"The label in metrics and logs. Unique."},"path":{"description":"Whole segments: `/mcp` matches /mcp and /mcp/…, never /mcpx. The longest path wins.","title":"a path such as /mcp","type":"string","pattern":"^/[^\\\\%;?#*{}]*$|\\$\\{(?:env|file):[^}]+\\}"},"protocol":{"description":"`mcp` reads the Model Context Protocol's messages, so that a policy can decide by tool. Default: http.","title":"http or mcp","anyOf":[{"enum":["http","mcp"]},{"$ref":"#/$defs/placeholder"}]},"resource":{"description":"The protected resource metadata (RFC 9728) of this route. An mcp route publishes metadata even without this key.","type":"object","additionalProperties":false,"properties":{"name":{"$ref":"#/$defs/text","description":"`resource_name`, shown to users."},"scopes_supported":{"$ref":"#/$defs/scopes","description":"`scopes_supported`."},"documentation":{"$ref":"#/$defs/link","description":"`resource_documentation`."},"policy_uri":{"$ref":"#/$defs/link","description":"`resource_policy_uri`."},"tos_uri":{"$ref":"#/$defs/link","description":"`resource_tos_uri`."}}},"authorization_servers":{"description":"The `authorization_servers` that this route trusts. Optional if only one is defined.","type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/name"}},"audience":{"description":"`aud` must contain one of these exactly. Required for http; the default for mcp is `public_url` + `path`.","title":"an audience or a list of them","anyOf":[{"type":"string","minLength":1},{"type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/text"}}]},"tokens":{"description":"Accepted forms of tokens. With `jwt`, a server that has only `introspection` is asked about JWTs too. Default: the forms that the trusted authorization servers allow, `jwt` if one has `jwt`, `opaque` if one has `introspection`.","type":"array","minItems":1,"uniqueItems":true,"items":{"title":"jwt or opaque","anyOf":[{"enum":["jwt","opaque"]},{"$ref":"#/$defs/placeholder"}]}},"opaque_tokens":{"description":"The servers that the gateway asks about an opaque token if the route trusts several with `introspection`. `by_prefix`: the server whose `prefix` the token has; every server needs a prefix. `shown_to_all`: the gateway sends a token without a known prefix to each server without a prefix, in the order of `authorization_servers`, until one knows it. Each of these servers can then use the tokens of the others. Default: by_prefix.","title":"by_prefix or shown_to_all","anyOf":[{"enum":["by_prefix","shown_to_all"]},{"$ref":"#/$defs/placeholder"}]},"policy":{"$ref":"#/$defs/name","description":"The policy: `demo` is policies/demo.yaml. Without a policy the route accepts any valid token for its audience."},"methods":{"description":"Accepted HTTP methods; any other gets 405. Default: all.","type":"array","minItems":1,"uniqueItems":true,"items":{"title":"an HTTP method in upper case","type":"string","pattern":"^[A-Z][A-Z-]*$|\\$\\{(?:env|file):[^}]+\\}"}},"public":{"description":"`true` opens the route to every caller, without token or policy. No other setting opens a route.","type":"boolean"},"upgrade":{"description":"`websocket` allows WebSocket upgrades, authorized like any request. Not for mcp.","title":"websocket","anyOf":[{"enum":["websocket"]},{"$ref":"#/$defs/placeholder"}]},"below":{"description":"mcp only. The handling of messages to paths below `path`. `refuse`: they get 404. `pass`: the rest of the path is appended to `upstream.url`; the policy does not see it. Default: refuse.","title":"refuse or pass","anyOf":[{"enum":["refuse","pass"]},{"$ref":"#/$defs/placeholder"}]},"query":{"description":"mcp only. The handling of requests with a query. `refuse`: they get 400. `pass`: the upstream gets the query; the policy does not see it. Default: refuse.","title":"refuse or pass","anyOf":[{"enum":["refuse","pass"]},{"$ref":"#/$defs/placeholder"}]},"first_challenge":{"description":"For a route with `resource`: the scopes that a 401 names. `policy`: those at the top of the policy, which every call needs. `supported`: all of `resource.scopes_supported`. `none`: none. Some clients register with exactly these scopes, and some authorization servers never grant such a client more: use `supported` there, and list each scope of the policy. Users then see all of them at the first sign-in. Default: policy; on an http route none.","title":"policy, supported or none","anyOf":[{"enum":["policy","supported","none"]},{"$ref":"#/$defs/placeholder"}]},"refusals":{"description":"mcp only. How the gateway answers calls that it refuses.","type":"object","properties":{"final":{"description":"The answer to a `tools/call` that the policy refuses whatever token the caller gets. `http`: 403 with a JSON-RPC error, which some clients drop unread. `tool_error`: 200 with a tool result that is an error, which AI models read; the decision log and metrics count it as a denial. What a new token can mend stays a 401 or 403. Default: http.","title":"http or tool_error","anyOf":[{"enum":["http","tool_error"]},{"$ref":"#/$defs/placeholder"}]}},"additionalProperties":false},"keepalive":{"$ref":"#/$defs/duration","description":"The interval after which the gateway sends a comment into a quiet event stream, so that proxies do not close it. Default: never."},"rate":{"$ref":"#/$defs/rate","description":"Like limits.rate, for this route. Default: limits.rate."},"dpop":{"description":"Accept DPoP-bound tokens with a proof of possession of the client's key, RFC 9449; `{}` enables it. Default: tokens that are bound to a key are refused.","type":"object","additionalProperties":false,"properties":{"required":{"description":"`true` refuses tokens that are bound neither to a key nor to a client certificate. Default: false.","type":"boolean"},"nonce":{"description":"`true` requires a nonce of the gateway in each proof, RFC 9449 §9, so that proofs cannot be made in advance; replicas need the same `session_key`. Default: false.","type":"boolean"},"algorithms":{"$ref":"#/$defs/algorithms","description":"The accepted signature algorithms of proofs. Default: all of them."},"proof_lifetime":{"$ref":"#/$defs/duration","description":"The maximum difference between `iat` of a proof and the gateway's clock, in the past or in the future; at most 5m. Each proof is accepted once and remembered for as long as it would be accepted. Default: 5m."}}},"revalidate":{"$ref":"#/$defs/duration","description":"The interval at which the gateway checks the token again while an event stream, another answer without a length, or a WebSocket is open. The gateway ends the stream if the token is no longer valid. Default: never for a token with an expiry, because the stream ends then; 30s for an opaque token without `exp`, whose stream would otherwise never end. No setting disables that check."},"upstream":{"$ref":"#/$defs/upstream"}}},"upstream":{"description":"The server behind the route, and what the gateway sends to it.","type":"object","additionalProperties":false,"required":["url"],"properties":{"url":{"$ref":"#/$defs/plainUrl","description":"Its path replaces the matched path of the route. The rest of the path and the query are kept; on an mcp route only with `below: pass` and `query: pass`."},"identity":{"description":"Claims as request headers: `x-auth-subject: sub`, or with a JSON Pointer, `x-auth-actor: /act/sub`. Headers of these names from the client are always removed.","type":"object","propertyNames":{"title":"a header name","pattern":"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},"properties":{"signed":{"description":"The header for a signed statement of the caller's identity, such as `x-auth-identity`, or a mapping with more settings. The statement is a JWT of the gateway (ES256, one minute), verified with /.well-known/sallyport-jwks.json. Default: none.","title":"a header name, or a mapping with one","type":["string","object"],"minLength":1,"pattern":"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$|\\$\\{(?:env|file):[^}]+\\}","additionalProperties":false,"required":["header"],"properties":{"header":{"description":"The header that carries it.","title":"a header name","type":"string","pattern":"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$|\\$\\{(?:env|file):[^}]+\\}"},"audience":{"$ref":"#/$defs/text","description":"`aud` of the statement. Default: `url`, without a trailing slash."},"claims":{"description":"Claims of the token that the statement repeats, named as in a policy, under the same names. Default: only subject, client and scopes.","type":"array","uniqueItems":true,"items":{"$ref":"#/$defs/text"}}}}},"additionalProperties":{"$ref":"#/$defs/text"}},"token":{"description":"The `Authorization` that the upstream gets: none, the signed answer of introspection (`phantom`; requires `introspection.response: jwt`, which describes it, and `tokens: [opaque]`), a new token by RFC 8693 (`exchange`), or the client's token (`forward`, http only). Default: none.","title":"none, phantom, exchange or forward","anyOf":[{"enum":["none","phantom","exchange","forward"]},{"$ref":"#/$defs/placeholder"}]},"exchange":{"description":"The token exchange for the upstream, RFC 8693; requires `token: exchange`.","type":"object","additionalProperties":false,"properties":{"server":{"$ref":"#/$defs/name","description":"The one of `authorization_servers` that exchanges tokens. Optional if only one is defined."},"client_id":{"$ref":"#/$defs/text","description":"The gateway's client identifier at that server. Default: that of the server's `introspection`."},"client_secret":{"$ref":"#/$defs/text","description":"The gateway's client secret at that server. Default: that of the server's `introspection`."},"client_auth":{"$ref":"#/$defs/clientAuth"},"client_key":{"$ref":"#/$defs/clientKey"},"client_key_id":{"$ref":"#/$defs/clientKeyId"},"endpoint":{"$ref":"#/$defs/url","description":"The token endpoint. Default: `token_endpoint` of the server's metadata."},"audience":{"$ref":"#/$defs/texts","description":"`audience` of the request, one or a list: the intended audience of the new token, by a name that the server knows. Default: none."},"resource":{"$ref":"#/$defs/texts","description":"`resource` of the request, one or a list: the intended audience as absolute URIs, RFC 8707. Default: none."},"scope":{"$ref":"#/$defs/scopes","description":"`scope` of the request; a grant that lacks one of them is refused. Default: the server decides."},"token_type":{"$ref":"#/$defs/exchangedType","description":"`requested_token_type`: the type of the upstream's token. With jwt, an answer of another type is refused. Default: access_token."},"subject_token_type":{"$ref":"#/$defs/exchangedType","description":"`subject_token_type`: the declared type of the caller's token. Default: access_token."},"actor":{"description":"The actor in the exchange, RFC 8693 §1.1: none, or the gateway, with an `actor_token` that it gets by the client credentials grant. Default: none.","title":"none or client_credentials","anyOf":[{"enum":["none","client_credentials"]},{"$ref":"#/$defs/placeholder"}]}}},"allow_response_headers":{"description":"Response headers to forward although they control a proxy in front, or the whole origin in a browser. In lower case: `alt-svc`, `clear-site-data`, `x-accel-charset`, `x-accel-limit-rate`, `x-accel-redirect`, `x-lighttpd-send-file`, `x-litespeed-location`, `x-reproxy-file`, `x-reproxy-url`, `x-sendfile`, `x-sendfile2`. The gateway removes those that are not listed here. Default: none.","type":"array","uniqueItems":true,"items":{"title":"alt-svc, clear-site-data, x-accel-charset, x-accel-limit-rate, x-accel-redirect, x-lighttpd-send-file, x-litespeed-location, x-reproxy-file, x-reproxy-url, x-sendfile or x-sendfile2","anyOf":[{"enum":["alt-svc","clear-site-data","x-accel-charset","x-accel-limit-rate","x-accel-redirect","x-lighttpd-send-file","x-litespeed-location","x-reproxy-file","x-reproxy-url","x-sendfile","x-sendfile2"]},{"$ref":"#/$defs/placeholder"}]}},"timeouts":{"description":"The time limits for the upstream. Accurate to about half a second; a limit under one second may take up to 1.5 s.","type":"object","additionalProperties":false,"properties":{"connect":{"$ref":"#/$defs/duration","description":"Until the connection is established. Default: 5s."},"response":{"$ref":"#/$defs/duration","description":"Until the header section of the response. A stream has no time limit. Default: 60s."}}}}},"algorithms":{"type":"array","minItems":1,"uniqueItems":true,"items":{"title":"RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA or Ed25519","anyOf":[{"enum":["RS256","RS384","RS512","PS256","PS384","PS512","ES256","ES384","ES512","EdDSA","Ed25519"]},{"$ref":"#/$defs/placeholder"}]}},"clientAuth":{"description":"The gateway's client authentication at the server: a secret (RFC 6749 §2.3.1), or assertions signed with a key (RFC 7523 §2.2), which need no shared secret. Default: client_secret_basic.","title":"client_secret_basic, client_secret_post or private_key_jwt","anyOf":[{"enum":["client_secret_basic","client_secret_post","private_key_jwt"]},{"$ref":"#/$defs/placeholder"}]},"clientKey":{"description":"The private key for `client_auth: private_key_jwt`: PEM (PKCS#8, PKCS#1 or SEC 1) or a JWK as JSON text, usually `${file:/run/secrets/key.pem}`. The algorithm is the JWK's `alg`. Without it the key decides: RS256 (at least 2048 bits), ES256, ES384, ES512 or EdDSA; for PS256 use a JWK. An assertion has the issuer as its only audience, lives for 60 s and is used once.","$ref":"#/$defs/text"},"clientKeyId":{"description":"The `kid` under which the authorization server knows `client_key`. Default: the JWK's own `kid`, or none.","$ref":"#/$defs/text"},"placeholder":{"description":"A string with `${env:NAME}`, `${env:NAME:-default}` or `${file:PATH}` in it; its value is checked at start.","type":"string","pattern":"\\$\\{(?:env|file):[^}]+\\}"},"text":{"title":"a string","type":"string","minLength":1},"texts":{"title":"a string or a list of them","anyOf":[{"type":"string","minLength":1},{"type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/text"}}]},"exchangedType":{"title":"access_token or jwt","anyOf":[{"enum":["access_token","jwt"]},{"$ref":"#/$defs/placeholder"}]},"name":{"title":"a name of letters, digits, dots, dashes and underscores","type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}"},"scopeName":{"title":"a scope, RFC 6749 §3.3","type":"string","pattern":"^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$|\\$\\{(?:env|file):[^}]+\\}"},"scopes":{"type":"array","uniqueItems":true,"items":{"$ref":"#/$defs/scopeName"}},"address":{"title":"an address such as 127.0.0.1:8080","type":"string","pattern":"^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"},"origin":{"title":"an origin such as https://gateway.example","type":"string","pattern":"^https?://[^/?#@\\s]+$|\\$\\{(?:env|file):[^}]+\\}"},"url":{"title":"an http(s) URL","type":"string","pattern":"^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}"},"link":{"title":"an http(s) URL","type":"string","pattern":"^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}"},"plainUrl":{"title":"an http(s) URL without query and fragment","type":"string","pattern":"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"},"rate":{"description":"A rate, or `off` for no limit.","title":"a rate such as { requests: 100, per: 1s }, or off","type":["object","string"],"pattern":"^off$|\\$\\{(?:env|file):[^}]+\\}","additionalProperties":false,"required":["requests","per"],"properties":{"requests":{"$ref":"#/$defs/count","description":"The number of requests in each `per`, from 1 to 1000000."},"per":{"$ref":"#/$defs/duration","description":"The period. The bucket is refilled evenly over it."},"burst":{"$ref":"#/$defs/count","description":"The number of requests at once after a pause, from 1 to 1000000. Default: `requests`."}}},"count":{"title":"a whole number from 1 to 1000000","anyOf":[{"type":"integer","minimum":1,"maximum":1000000},{"$ref":"#/$defs/placeholder"}]},"duration":{"title":"a duration such as 500ms, 30s, 5m or 1h","type":"string","pattern":"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},"size":{"title":"a size such as 512B, 16KiB or 1MiB","type":"string","pattern":"^[1-9][0-9]*(?:B|KiB|MiB)$|\\$\\{(?:env|file):[^}]+\\}"},"identityProvider":{"description":"An OpenID provider. It needs neither dynamic registration nor the `resource` parameter.","type":"object","additionalProperties":false,"required":["issuer","client_id"],"properties":{"issuer":{"$ref":"#/$defs/plainUrl","description":"Its issuer identifier, compared byte for byte. The front door reads the rest from its metadata (OpenID Connect Discovery)."},"backchannel":{"$ref":"#/$defs/plainUrl","description":"The base URL for calls from the front door, if it differs from the issuer (compose, split DNS). The issuer does not change."},"client_id":{"$ref":"#/$defs/text","description":"The client identifier of the front door at the provider. Register the redirect URI `ISSUER/callback/NAME` there, with the issuer of the front door and the name of this provider."},"client_secret":{"$ref":"#/$defs/text","description":"Its client secret, for `client_secret_basic` and `client_secret_post`. Use `${env:NAME}` or `${file:/run/secrets/name}` instead of the secret itself."},"client_auth":{"description":"How the front door authenticates at the token endpoint of the provider. Default: client_secret_basic.","title":"client_secret_basic, client_secret_post, private_key_jwt or none","anyOf":[{"enum":["client_secret_basic","client_secret_post","private_key_jwt","none"]},{"$ref":"#/$defs/placeholder"}]},"client_key":{"$ref":"#/$defs/clientKey"},"client_key_id":{"$ref":"#/$defs/clientKeyId"},"scopes":{"$ref":"#/$defs/scopes","description":"The scopes that the front door requests from the provider. Default: openid, email, profile."},"domains":{"description":"The domains of the addresses of its people. With several providers, the front door asks for the address, and `acme.com` also covers `x.acme.com`.","type":"array","minItems":1,"uniqueItems":true,"items":{"title":"a domain such as acme.com","type":"string","pattern":"^(?:[A-Za-z0-9-]+\\.)*[A-Za-z0-9-]+$|\\$\\{(?:env|file):[^}]+\\}"}},"claims":{"description":"Claims of our tokens, each with the claim of the provider that it comes from: a name, or a JSON Pointer such as `/roles/0`. From the ID token, or else from the userinfo endpoint.","type":"object","propertyNames":{"title":"the name of a claim","pattern":"^[!-~]+$"},"additionalProperties":{"$ref":"#/$defs/text"}}}},"registeredClient":{"description":"A client that the operator registers, by its client identifier.","type":"object","additionalProperties":false,"required":["redirect_uris"],"properties":{"name":{"$ref":"#/$defs/text","description":"Its name on the consent page. Default: its client identifier."},"client_secret":{"$ref":"#/$defs/text","description":"Its client secret. Default: none, a public client."},"redirect_uris":{"description":"Its redirect URIs. The port of a loopback address may be `*`.","type":"array","minItems":1,"uniqueItems":true,"items":{"title":"a URL in which * stands for one part and ** for any rest","type":"string","pattern":"^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}"}},"refresh":{"description":"Whether it gets refresh tokens. Default: `clients.refresh`.","type":"boolean"}}},"assertionIssuer":{"description":"An issuer of identity assertions (ID-JAG), which clients exchange for tokens without a browser.","type":"object","additionalProperties":false,"required":["issuer","clients","scopes"],"properties":{"issuer":{"$ref":"#/$defs/plainUrl","description":"Its issuer identifier, compared byte for byte. Its keys come from its metadata."},"backchannel":{"$ref":"#/$defs/plainUrl","description":"The base URL for calls from the front door, if it differs from the issuer."},"provider":{"$ref":"#/$defs/text","description":"The identity provider whose people its subjects are. Default: its subjects are other people than those of every provider."},"clients":{"description":"The client identifiers that may present its assertions.","type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/text"}},"scopes":{"$ref":"#/$defs/scopes","description":"The scopes that its assertions can give."},"claims":{"description":"As for identity providers, from the assertion.","type":"object","propertyNames":{"title":"the name of a claim","pattern":"^[!-~]+$"},"additionalProperties":{"$ref":"#/$defs/text"}}}},"days":{"title":"a duration such as 30m, 12h or 90d","type":"string","pattern":"^(?:0|[1-9][0-9]*)(?:ms|s|m|h|d)$|\\$\\{(?:env|file):[^}]+\\}"}}};
const schema32 = {"title":"an origin such as https://gateway.example","type":"string","pattern":"^https?://[^/?#@\\s]+$|\\$\\{(?:env|file):[^}]+\\}"};
const schema33 = {"title":"an address such as 127.0.0.1:8080","type":"string","pattern":"^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"};
const schema34 = {"title":"a string","type":"string","minLength":1};
const schema41 = {"title":"an http(s) URL without query and fragment","type":"string","pattern":"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"};
const schema76 = {"title":"a duration such as 30m, 12h or 90d","type":"string","pattern":"^(?:0|[1-9][0-9]*)(?:ms|s|m|h|d)$|\\$\\{(?:env|file):[^}]+\\}"};
const schema54 = {"title":"a duration such as 500ms, 30s, 5m or 1h","type":"string","pattern":"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"};
const schema44 = {"description":"A string with `${env:NAME}`, `${env:NAME:-default}` or `${file:PATH}` in it; its value is checked at start.","type":"string","pattern":"\\$\\{(?:env|file):[^}]+\\}"};
const schema95 = {"title":"a size such as 512B, 16KiB or 1MiB","type":"string","pattern":"^[1-9][0-9]*(?:B|KiB|MiB)$|\\$\\{(?:env|file):[^}]+\\}"};
const func1 = Object.prototype.hasOwnProperty;
import func2Module from 'ajv/dist/runtime/ucs2length.js';
const func2 = func2Module.default;
import func0Module from 'ajv/dist/runtime/equal.js';
const func0 = func0Module.default;
const pattern4 = new RegExp("^https?://[^/?#@\\s]+$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern5 = new RegExp("^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern6 = new RegExp("^off$|^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern8 = new RegExp("^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern12 = new RegExp("^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", "u");
const pattern13 = new RegExp("^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern36 = new RegExp("^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern39 = new RegExp("^(?:0|[1-9][0-9]*)(?:ms|s|m|h|d)$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern35 = new RegExp("^[!-~]+$", "u");
const pattern42 = new RegExp("^(?!.*\\$\\{)[\\x21\\x23-\\x5B\\x5D-\\x7E]+$", "u");
const pattern19 = new RegExp("^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern15 = new RegExp("\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern52 = new RegExp("^rediss?://[^/]|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern54 = new RegExp("^(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern56 = new RegExp("^[1-9][0-9]*(?:B|KiB|MiB)$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern65 = new RegExp("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$", "u");
const schema40 = {"description":"An authorization server. At least one of `jwt` and `introspection` is required to validate its tokens.","type":"object","additionalProperties":false,"required":["issuer"],"properties":{"issuer":{"$ref":"#/$defs/plainUrl","description":"Its issuer identifier, compared and advertised byte for byte; a trailing slash counts."},"backchannel":{"$ref":"#/$defs/plainUrl","description":"The base URL for calls from the gateway, if it differs from the issuer (compose, split DNS). The issuer does not change."},"jwt":{"description":"Accept JWT access tokens that the server signed, RFC 9068.","type":"object","additionalProperties":false,"required":["algorithms"],"properties":{"algorithms":{"$ref":"#/$defs/algorithms","description":"The only accepted signature algorithms. `none` and HMAC are refused."},"types":{"description":"Accepted `typ` header values. Default: at+jwt, JWT or absent.","type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/text"}},"jwks":{"$ref":"#/$defs/url","description":"The URL of its JWK Set. Default: `jwks_uri` of its RFC 8414 or OpenID Connect metadata."}}},"introspection":{"description":"Accept opaque tokens and introspect them at the server, RFC 7662.","type":"object","additionalProperties":false,"required":["client_id"],"properties":{"client_id":{"$ref":"#/$defs/text","description":"The gateway's client identifier at the server."},"client_secret":{"$ref":"#/$defs/text","description":"The gateway's client secret at the server, for `client_secret_basic` and `client_secret_post`. Use `${env:NAME}` or `${file:/run/secrets/name}` instead of the secret itself."},"client_auth":{"$ref":"#/$defs/clientAuth"},"client_key":{"$ref":"#/$defs/clientKey"},"client_key_id":{"$ref":"#/$defs/clientKeyId"},"endpoint":{"$ref":"#/$defs/url","description":"The introspection endpoint. Default: `introspection_endpoint` of its metadata."},"cache":{"$ref":"#/$defs/duration","description":"The longest time for which a positive answer is reused, never past `exp`. A negative answer is reused for the same time, but at most 5s. With `0s` the gateway asks every time. Default: 30s."},"prefix":{"title":"the beginning of a token: letters, digits and - . _ ~ + /","description":"The prefix of each opaque token of this server. The gateway sends tokens with this prefix only to this server, and sends it no other opaque token. For JWTs `iss` decides. If a route trusts several servers with `introspection`, each needs a prefix (see `opaque_tokens`). Default: none.","type":"string","pattern":"^[A-Za-z0-9._~+/-]+$|\\$\\{(?:env|file):[^}]+\\}"},"response":{"description":"`jwt` requests a signed answer and accepts no other: a JWT by RFC 9701 (`application/token-introspection+jwt`), or a phantom token (`application/jwt`). Only `active: false` and 204 need no signature. `token: phantom` sends the signed answer to an upstream. A phantom token is an access token that the upstream verifies like any other. A JWT by RFC 9701 is a statement to the gateway: its `aud` is `client_id`, it has no `exp` of its own, the claims are in `token_introspection`, and its `typ` shows that it is not an access token. An upstream that accepts it must check all of that, and trust the gateway not to send an old one. Default: json.","title":"json or jwt","anyOf":[{"enum":["json","jwt"]},{"$ref":"#/$defs/placeholder"}]},"algorithms":{"description":"The only accepted signature algorithms of signed answers; requires `response: jwt`. Default: those of `jwt`.","$ref":"#/$defs/algorithms"},"audience":{"description":"Whether an answer without `aud` is refused. Default: required.","title":"required or optional","anyOf":[{"enum":["required","optional"]},{"$ref":"#/$defs/placeholder"}]}}},"clock_tolerance":{"$ref":"#/$defs/duration","description":"The tolerance for `exp`, `nbf` and `iat`; at most 5m. Default: 5s."},"timeout":{"$ref":"#/$defs/duration","description":"The limit of one call to the server, from connecting to the last byte. Default: 5s."},"stale":{"$ref":"#/$defs/duration","description":"How long metadata and keys are used after the last successful fetch while the server is unavailable; at most 168h. After that, requests that need them get 503. Fresh ones are always used: 5m, for keys the time in their `Cache-Control` (1m to 1h). Default: 24h."}}};
const schema46 = {"title":"an http(s) URL","type":"string","pattern":"^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}"};
const pattern16 = new RegExp("^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern20 = new RegExp("^[A-Za-z0-9._~+/-]+$|\\$\\{(?:env|file):[^}]+\\}", "u");
const schema43 = {"type":"array","minItems":1,"uniqueItems":true,"items":{"title":"RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA or Ed25519","anyOf":[{"enum":["RS256","RS384","RS512","PS256","PS384","PS512","ES256","ES384","ES512","EdDSA","Ed25519"]},{"$ref":"#/$defs/placeholder"}]}};

function validate22(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate22.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(Array.isArray(data)){
if(data.length < 1){
const err0 = {instancePath,schemaPath:"#/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema43,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
let data0 = data[i0];
const _errs2 = errors;
let valid2 = false;
const _errs3 = errors;
if(!(((((((((((data0 === "RS256") || (data0 === "RS384")) || (data0 === "RS512")) || (data0 === "PS256")) || (data0 === "PS384")) || (data0 === "PS512")) || (data0 === "ES256")) || (data0 === "ES384")) || (data0 === "ES512")) || (data0 === "EdDSA")) || (data0 === "Ed25519"))){
const err1 = {instancePath:instancePath+"/" + i0,schemaPath:"#/items/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema43.items.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema43.items.anyOf[0].enum,parentSchema:schema43.items.anyOf[0],data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
var _valid0 = _errs3 === errors;
valid2 = valid2 || _valid0;
const _errs4 = errors;
if(typeof data0 === "string"){
if(!pattern15.test(data0)){
const err2 = {instancePath:instancePath+"/" + i0,schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath:instancePath+"/" + i0,schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
var _valid0 = _errs4 === errors;
valid2 = valid2 || _valid0;
if(!valid2){
const err4 = {instancePath:instancePath+"/" + i0,schemaPath:"#/items/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema43.items.anyOf,parentSchema:schema43.items,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
else {
errors = _errs2;
if(vErrors !== null){
if(_errs2){
vErrors.length = _errs2;
}
else {
vErrors = null;
}
}
}
}
let i1 = data.length;
let j0;
if(i1 > 1){
outer0:
for(;i1--;){
for(j0 = i1; j0--;){
if(func0(data[i1], data[j0])){
const err5 = {instancePath,schemaPath:"#/uniqueItems",keyword:"uniqueItems",params:{i: i1, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i1+" are identical)",schema:true,parentSchema:schema43,data};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
break outer0;
}
}
}
}
}
else {
const err6 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema43.type,parentSchema:schema43,data};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
validate22.errors = vErrors;
return errors === 0;
}
validate22.evaluated = {"items":true,"dynamicProps":false,"dynamicItems":false};

const schema49 = {"description":"The gateway's client authentication at the server: a secret (RFC 6749 §2.3.1), or assertions signed with a key (RFC 7523 §2.2), which need no shared secret. Default: client_secret_basic.","title":"client_secret_basic, client_secret_post or private_key_jwt","anyOf":[{"enum":["client_secret_basic","client_secret_post","private_key_jwt"]},{"$ref":"#/$defs/placeholder"}]};

function validate24(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate24.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
const _errs0 = errors;
let valid0 = false;
const _errs1 = errors;
if(!(((data === "client_secret_basic") || (data === "client_secret_post")) || (data === "private_key_jwt"))){
const err0 = {instancePath,schemaPath:"#/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema49.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema49.anyOf[0].enum,parentSchema:schema49.anyOf[0],data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
var _valid0 = _errs1 === errors;
valid0 = valid0 || _valid0;
const _errs2 = errors;
if(typeof data === "string"){
if(!pattern15.test(data)){
const err1 = {instancePath,schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
else {
const err2 = {instancePath,schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
var _valid0 = _errs2 === errors;
valid0 = valid0 || _valid0;
if(!valid0){
const err3 = {instancePath,schemaPath:"#/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema49.anyOf,parentSchema:schema49,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
else {
errors = _errs0;
if(vErrors !== null){
if(_errs0){
vErrors.length = _errs0;
}
else {
vErrors = null;
}
}
}
validate24.errors = vErrors;
return errors === 0;
}
validate24.evaluated = {"dynamicProps":false,"dynamicItems":false};


function validate21(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate21.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.issuer === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "issuer"},message:"must have required property '"+"issuer"+"'",schema:schema40.required,parentSchema:schema40,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!(((((((key0 === "issuer") || (key0 === "backchannel")) || (key0 === "jwt")) || (key0 === "introspection")) || (key0 === "clock_tolerance")) || (key0 === "timeout")) || (key0 === "stale"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema40,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.issuer !== undefined){
let data0 = data.issuer;
if(typeof data0 === "string"){
if(!pattern13.test(data0)){
const err2 = {instancePath:instancePath+"/issuer",schemaPath:"#/$defs/plainUrl/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema41,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath:instancePath+"/issuer",schemaPath:"#/$defs/plainUrl/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema41.type,parentSchema:schema41,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.backchannel !== undefined){
let data1 = data.backchannel;
if(typeof data1 === "string"){
if(!pattern13.test(data1)){
const err4 = {instancePath:instancePath+"/backchannel",schemaPath:"#/$defs/plainUrl/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema41,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/backchannel",schemaPath:"#/$defs/plainUrl/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema41.type,parentSchema:schema41,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.jwt !== undefined){
let data2 = data.jwt;
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
if(data2.algorithms === undefined){
const err6 = {instancePath:instancePath+"/jwt",schemaPath:"#/properties/jwt/required",keyword:"required",params:{missingProperty: "algorithms"},message:"must have required property '"+"algorithms"+"'",schema:schema40.properties.jwt.required,parentSchema:schema40.properties.jwt,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
for(const key1 in data2){
if(!(((key1 === "algorithms") || (key1 === "types")) || (key1 === "jwks"))){
const err7 = {instancePath:instancePath+"/jwt",schemaPath:"#/properties/jwt/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key1},message:"must NOT have additional properties",schema:false,parentSchema:schema40.properties.jwt,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data2.algorithms !== undefined){
if(!(validate22(data2.algorithms, {instancePath:instancePath+"/jwt/algorithms",parentData:data2,parentDataProperty:"algorithms",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate22.errors : vErrors.concat(validate22.errors);
errors = vErrors.length;
}
}
if(data2.types !== undefined){
let data4 = data2.types;
if(Array.isArray(data4)){
if(data4.length < 1){
const err8 = {instancePath:instancePath+"/jwt/types",schemaPath:"#/properties/jwt/properties/types/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema40.properties.jwt.properties.types,data:data4};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
const len0 = data4.length;
for(let i0=0; i0<len0; i0++){
let data5 = data4[i0];
if(typeof data5 === "string"){
if(func2(data5) < 1){
const err9 = {instancePath:instancePath+"/jwt/types/" + i0,schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data5};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath:instancePath+"/jwt/types/" + i0,schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data5};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
let i1 = data4.length;
let j0;
if(i1 > 1){
outer0:
for(;i1--;){
for(j0 = i1; j0--;){
if(func0(data4[i1], data4[j0])){
const err11 = {instancePath:instancePath+"/jwt/types",schemaPath:"#/properties/jwt/properties/types/uniqueItems",keyword:"uniqueItems",params:{i: i1, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i1+" are identical)",schema:true,parentSchema:schema40.properties.jwt.properties.types,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
break outer0;
}
}
}
}
}
else {
const err12 = {instancePath:instancePath+"/jwt/types",schemaPath:"#/properties/jwt/properties/types/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema40.properties.jwt.properties.types.type,parentSchema:schema40.properties.jwt.properties.types,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data2.jwks !== undefined){
let data6 = data2.jwks;
if(typeof data6 === "string"){
if(!pattern16.test(data6)){
const err13 = {instancePath:instancePath+"/jwt/jwks",schemaPath:"#/$defs/url/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema46,data:data6};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
else {
const err14 = {instancePath:instancePath+"/jwt/jwks",schemaPath:"#/$defs/url/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema46.type,parentSchema:schema46,data:data6};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
}
else {
const err15 = {instancePath:instancePath+"/jwt",schemaPath:"#/properties/jwt/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema40.properties.jwt.type,parentSchema:schema40.properties.jwt,data:data2};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
if(data.introspection !== undefined){
let data7 = data.introspection;
if(data7 && typeof data7 == "object" && !Array.isArray(data7)){
if(data7.client_id === undefined){
const err16 = {instancePath:instancePath+"/introspection",schemaPath:"#/properties/introspection/required",keyword:"required",params:{missingProperty: "client_id"},message:"must have required property '"+"client_id"+"'",schema:schema40.properties.introspection.required,parentSchema:schema40.properties.introspection,data:data7};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
for(const key2 in data7){
if(!(func1.call(schema40.properties.introspection.properties, key2))){
const err17 = {instancePath:instancePath+"/introspection",schemaPath:"#/properties/introspection/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key2},message:"must NOT have additional properties",schema:false,parentSchema:schema40.properties.introspection,data:data7};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
if(data7.client_id !== undefined){
let data8 = data7.client_id;
if(typeof data8 === "string"){
if(func2(data8) < 1){
const err18 = {instancePath:instancePath+"/introspection/client_id",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data8};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
else {
const err19 = {instancePath:instancePath+"/introspection/client_id",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data8};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
if(data7.client_secret !== undefined){
let data9 = data7.client_secret;
if(typeof data9 === "string"){
if(func2(data9) < 1){
const err20 = {instancePath:instancePath+"/introspection/client_secret",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data9};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
else {
const err21 = {instancePath:instancePath+"/introspection/client_secret",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data9};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
if(data7.client_auth !== undefined){
if(!(validate24(data7.client_auth, {instancePath:instancePath+"/introspection/client_auth",parentData:data7,parentDataProperty:"client_auth",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate24.errors : vErrors.concat(validate24.errors);
errors = vErrors.length;
}
}
if(data7.client_key !== undefined){
let data11 = data7.client_key;
if(typeof data11 === "string"){
if(func2(data11) < 1){
const err22 = {instancePath:instancePath+"/introspection/client_key",schemaPath:"#/$defs/clientKey/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data11};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
else {
const err23 = {instancePath:instancePath+"/introspection/client_key",schemaPath:"#/$defs/clientKey/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data11};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
if(data7.client_key_id !== undefined){
let data12 = data7.client_key_id;
if(typeof data12 === "string"){
if(func2(data12) < 1){
const err24 = {instancePath:instancePath+"/introspection/client_key_id",schemaPath:"#/$defs/clientKeyId/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data12};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
else {
const err25 = {instancePath:instancePath+"/introspection/client_key_id",schemaPath:"#/$defs/clientKeyId/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data12};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
if(data7.endpoint !== undefined){
let data13 = data7.endpoint;
if(typeof data13 === "string"){
if(!pattern16.test(data13)){
const err26 = {instancePath:instancePath+"/introspection/endpoint",schemaPath:"#/$defs/url/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema46,data:data13};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
else {
const err27 = {instancePath:instancePath+"/introspection/endpoint",schemaPath:"#/$defs/url/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema46.type,parentSchema:schema46,data:data13};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
if(data7.cache !== undefined){
let data14 = data7.cache;
if(typeof data14 === "string"){
if(!pattern19.test(data14)){
const err28 = {instancePath:instancePath+"/introspection/cache",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data14};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
}
else {
const err29 = {instancePath:instancePath+"/introspection/cache",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data14};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
}
if(data7.prefix !== undefined){
let data15 = data7.prefix;
if(typeof data15 === "string"){
if(!pattern20.test(data15)){
const err30 = {instancePath:instancePath+"/introspection/prefix",schemaPath:"#/properties/introspection/properties/prefix/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9._~+/-]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[A-Za-z0-9._~+/-]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[A-Za-z0-9._~+/-]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema40.properties.introspection.properties.prefix,data:data15};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
}
else {
const err31 = {instancePath:instancePath+"/introspection/prefix",schemaPath:"#/properties/introspection/properties/prefix/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema40.properties.introspection.properties.prefix.type,parentSchema:schema40.properties.introspection.properties.prefix,data:data15};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
}
if(data7.response !== undefined){
let data16 = data7.response;
const _errs45 = errors;
let valid16 = false;
const _errs46 = errors;
if(!((data16 === "json") || (data16 === "jwt"))){
const err32 = {instancePath:instancePath+"/introspection/response",schemaPath:"#/properties/introspection/properties/response/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema40.properties.introspection.properties.response.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema40.properties.introspection.properties.response.anyOf[0].enum,parentSchema:schema40.properties.introspection.properties.response.anyOf[0],data:data16};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
var _valid0 = _errs46 === errors;
valid16 = valid16 || _valid0;
const _errs47 = errors;
if(typeof data16 === "string"){
if(!pattern15.test(data16)){
const err33 = {instancePath:instancePath+"/introspection/response",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data16};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
}
else {
const err34 = {instancePath:instancePath+"/introspection/response",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data16};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
var _valid0 = _errs47 === errors;
valid16 = valid16 || _valid0;
if(!valid16){
const err35 = {instancePath:instancePath+"/introspection/response",schemaPath:"#/properties/introspection/properties/response/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema40.properties.introspection.properties.response.anyOf,parentSchema:schema40.properties.introspection.properties.response,data:data16};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
else {
errors = _errs45;
if(vErrors !== null){
if(_errs45){
vErrors.length = _errs45;
}
else {
vErrors = null;
}
}
}
}
if(data7.algorithms !== undefined){
if(!(validate22(data7.algorithms, {instancePath:instancePath+"/introspection/algorithms",parentData:data7,parentDataProperty:"algorithms",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate22.errors : vErrors.concat(validate22.errors);
errors = vErrors.length;
}
}
if(data7.audience !== undefined){
let data18 = data7.audience;
const _errs52 = errors;
let valid18 = false;
const _errs53 = errors;
if(!((data18 === "required") || (data18 === "optional"))){
const err36 = {instancePath:instancePath+"/introspection/audience",schemaPath:"#/properties/introspection/properties/audience/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema40.properties.introspection.properties.audience.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema40.properties.introspection.properties.audience.anyOf[0].enum,parentSchema:schema40.properties.introspection.properties.audience.anyOf[0],data:data18};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
var _valid1 = _errs53 === errors;
valid18 = valid18 || _valid1;
const _errs54 = errors;
if(typeof data18 === "string"){
if(!pattern15.test(data18)){
const err37 = {instancePath:instancePath+"/introspection/audience",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data18};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
}
else {
const err38 = {instancePath:instancePath+"/introspection/audience",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data18};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
var _valid1 = _errs54 === errors;
valid18 = valid18 || _valid1;
if(!valid18){
const err39 = {instancePath:instancePath+"/introspection/audience",schemaPath:"#/properties/introspection/properties/audience/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema40.properties.introspection.properties.audience.anyOf,parentSchema:schema40.properties.introspection.properties.audience,data:data18};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
else {
errors = _errs52;
if(vErrors !== null){
if(_errs52){
vErrors.length = _errs52;
}
else {
vErrors = null;
}
}
}
}
}
else {
const err40 = {instancePath:instancePath+"/introspection",schemaPath:"#/properties/introspection/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema40.properties.introspection.type,parentSchema:schema40.properties.introspection,data:data7};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
}
if(data.clock_tolerance !== undefined){
let data19 = data.clock_tolerance;
if(typeof data19 === "string"){
if(!pattern19.test(data19)){
const err41 = {instancePath:instancePath+"/clock_tolerance",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data19};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
}
else {
const err42 = {instancePath:instancePath+"/clock_tolerance",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data19};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
}
if(data.timeout !== undefined){
let data20 = data.timeout;
if(typeof data20 === "string"){
if(!pattern19.test(data20)){
const err43 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data20};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
}
else {
const err44 = {instancePath:instancePath+"/timeout",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data20};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
}
if(data.stale !== undefined){
let data21 = data.stale;
if(typeof data21 === "string"){
if(!pattern19.test(data21)){
const err45 = {instancePath:instancePath+"/stale",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data21};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
}
else {
const err46 = {instancePath:instancePath+"/stale",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data21};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
}
}
else {
const err47 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema40.type,parentSchema:schema40,data};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
validate21.errors = vErrors;
return errors === 0;
}
validate21.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema64 = {"description":"An OpenID provider. It needs neither dynamic registration nor the `resource` parameter.","type":"object","additionalProperties":false,"required":["issuer","client_id"],"properties":{"issuer":{"$ref":"#/$defs/plainUrl","description":"Its issuer identifier, compared byte for byte. The front door reads the rest from its metadata (OpenID Connect Discovery)."},"backchannel":{"$ref":"#/$defs/plainUrl","description":"The base URL for calls from the front door, if it differs from the issuer (compose, split DNS). The issuer does not change."},"client_id":{"$ref":"#/$defs/text","description":"The client identifier of the front door at the provider. Register the redirect URI `ISSUER/callback/NAME` there, with the issuer of the front door and the name of this provider."},"client_secret":{"$ref":"#/$defs/text","description":"Its client secret, for `client_secret_basic` and `client_secret_post`. Use `${env:NAME}` or `${file:/run/secrets/name}` instead of the secret itself."},"client_auth":{"description":"How the front door authenticates at the token endpoint of the provider. Default: client_secret_basic.","title":"client_secret_basic, client_secret_post, private_key_jwt or none","anyOf":[{"enum":["client_secret_basic","client_secret_post","private_key_jwt","none"]},{"$ref":"#/$defs/placeholder"}]},"client_key":{"$ref":"#/$defs/clientKey"},"client_key_id":{"$ref":"#/$defs/clientKeyId"},"scopes":{"$ref":"#/$defs/scopes","description":"The scopes that the front door requests from the provider. Default: openid, email, profile."},"domains":{"description":"The domains of the addresses of its people. With several providers, the front door asks for the address, and `acme.com` also covers `x.acme.com`.","type":"array","minItems":1,"uniqueItems":true,"items":{"title":"a domain such as acme.com","type":"string","pattern":"^(?:[A-Za-z0-9-]+\\.)*[A-Za-z0-9-]+$|\\$\\{(?:env|file):[^}]+\\}"}},"claims":{"description":"Claims of our tokens, each with the claim of the provider that it comes from: a name, or a JSON Pointer such as `/roles/0`. From the ID token, or else from the userinfo endpoint.","type":"object","propertyNames":{"title":"the name of a claim","pattern":"^[!-~]+$"},"additionalProperties":{"$ref":"#/$defs/text"}}}};
const pattern34 = new RegExp("^(?:[A-Za-z0-9-]+\\.)*[A-Za-z0-9-]+$|\\$\\{(?:env|file):[^}]+\\}", "u");
const schema72 = {"type":"array","uniqueItems":true,"items":{"$ref":"#/$defs/scopeName"}};
const schema73 = {"title":"a scope, RFC 6749 §3.3","type":"string","pattern":"^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$|\\$\\{(?:env|file):[^}]+\\}"};
const pattern33 = new RegExp("^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$|\\$\\{(?:env|file):[^}]+\\}", "u");

function validate29(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate29.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(Array.isArray(data)){
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
let data0 = data[i0];
if(typeof data0 === "string"){
if(!pattern33.test(data0)){
const err0 = {instancePath:instancePath+"/" + i0,schemaPath:"#/$defs/scopeName/pattern",keyword:"pattern",params:{pattern: "^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema73,data:data0};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
else {
const err1 = {instancePath:instancePath+"/" + i0,schemaPath:"#/$defs/scopeName/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema73.type,parentSchema:schema73,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
let i1 = data.length;
let j0;
if(i1 > 1){
outer0:
for(;i1--;){
for(j0 = i1; j0--;){
if(func0(data[i1], data[j0])){
const err2 = {instancePath,schemaPath:"#/uniqueItems",keyword:"uniqueItems",params:{i: i1, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i1+" are identical)",schema:true,parentSchema:schema72,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
break outer0;
}
}
}
}
}
else {
const err3 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema72.type,parentSchema:schema72,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
validate29.errors = vErrors;
return errors === 0;
}
validate29.evaluated = {"items":true,"dynamicProps":false,"dynamicItems":false};


function validate28(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate28.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.issuer === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "issuer"},message:"must have required property '"+"issuer"+"'",schema:schema64.required,parentSchema:schema64,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.client_id === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "client_id"},message:"must have required property '"+"client_id"+"'",schema:schema64.required,parentSchema:schema64,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!(func1.call(schema64.properties, key0))){
const err2 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema64,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.issuer !== undefined){
let data0 = data.issuer;
if(typeof data0 === "string"){
if(!pattern13.test(data0)){
const err3 = {instancePath:instancePath+"/issuer",schemaPath:"#/$defs/plainUrl/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema41,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/issuer",schemaPath:"#/$defs/plainUrl/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema41.type,parentSchema:schema41,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.backchannel !== undefined){
let data1 = data.backchannel;
if(typeof data1 === "string"){
if(!pattern13.test(data1)){
const err5 = {instancePath:instancePath+"/backchannel",schemaPath:"#/$defs/plainUrl/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema41,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/backchannel",schemaPath:"#/$defs/plainUrl/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema41.type,parentSchema:schema41,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.client_id !== undefined){
let data2 = data.client_id;
if(typeof data2 === "string"){
if(func2(data2) < 1){
const err7 = {instancePath:instancePath+"/client_id",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/client_id",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.client_secret !== undefined){
let data3 = data.client_secret;
if(typeof data3 === "string"){
if(func2(data3) < 1){
const err9 = {instancePath:instancePath+"/client_secret",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath:instancePath+"/client_secret",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data.client_auth !== undefined){
let data4 = data.client_auth;
const _errs15 = errors;
let valid5 = false;
const _errs16 = errors;
if(!((((data4 === "client_secret_basic") || (data4 === "client_secret_post")) || (data4 === "private_key_jwt")) || (data4 === "none"))){
const err11 = {instancePath:instancePath+"/client_auth",schemaPath:"#/properties/client_auth/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema64.properties.client_auth.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema64.properties.client_auth.anyOf[0].enum,parentSchema:schema64.properties.client_auth.anyOf[0],data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
var _valid0 = _errs16 === errors;
valid5 = valid5 || _valid0;
const _errs17 = errors;
if(typeof data4 === "string"){
if(!pattern15.test(data4)){
const err12 = {instancePath:instancePath+"/client_auth",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
else {
const err13 = {instancePath:instancePath+"/client_auth",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
var _valid0 = _errs17 === errors;
valid5 = valid5 || _valid0;
if(!valid5){
const err14 = {instancePath:instancePath+"/client_auth",schemaPath:"#/properties/client_auth/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema64.properties.client_auth.anyOf,parentSchema:schema64.properties.client_auth,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
else {
errors = _errs15;
if(vErrors !== null){
if(_errs15){
vErrors.length = _errs15;
}
else {
vErrors = null;
}
}
}
}
if(data.client_key !== undefined){
let data5 = data.client_key;
if(typeof data5 === "string"){
if(func2(data5) < 1){
const err15 = {instancePath:instancePath+"/client_key",schemaPath:"#/$defs/clientKey/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
else {
const err16 = {instancePath:instancePath+"/client_key",schemaPath:"#/$defs/clientKey/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
if(data.client_key_id !== undefined){
let data6 = data.client_key_id;
if(typeof data6 === "string"){
if(func2(data6) < 1){
const err17 = {instancePath:instancePath+"/client_key_id",schemaPath:"#/$defs/clientKeyId/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data6};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
else {
const err18 = {instancePath:instancePath+"/client_key_id",schemaPath:"#/$defs/clientKeyId/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data6};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
if(data.scopes !== undefined){
if(!(validate29(data.scopes, {instancePath:instancePath+"/scopes",parentData:data,parentDataProperty:"scopes",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate29.errors : vErrors.concat(validate29.errors);
errors = vErrors.length;
}
}
if(data.domains !== undefined){
let data8 = data.domains;
if(Array.isArray(data8)){
if(data8.length < 1){
const err19 = {instancePath:instancePath+"/domains",schemaPath:"#/properties/domains/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema64.properties.domains,data:data8};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
const len0 = data8.length;
for(let i0=0; i0<len0; i0++){
let data9 = data8[i0];
if(typeof data9 === "string"){
if(!pattern34.test(data9)){
const err20 = {instancePath:instancePath+"/domains/" + i0,schemaPath:"#/properties/domains/items/pattern",keyword:"pattern",params:{pattern: "^(?:[A-Za-z0-9-]+\\.)*[A-Za-z0-9-]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:[A-Za-z0-9-]+\\.)*[A-Za-z0-9-]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:[A-Za-z0-9-]+\\.)*[A-Za-z0-9-]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema64.properties.domains.items,data:data9};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
else {
const err21 = {instancePath:instancePath+"/domains/" + i0,schemaPath:"#/properties/domains/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema64.properties.domains.items.type,parentSchema:schema64.properties.domains.items,data:data9};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
let i1 = data8.length;
let j0;
if(i1 > 1){
const indices0 = {};
for(;i1--;){
let item0 = data8[i1];
if(typeof item0 !== "string"){
continue;
}
if(typeof indices0[item0] == "number"){
j0 = indices0[item0];
const err22 = {instancePath:instancePath+"/domains",schemaPath:"#/properties/domains/uniqueItems",keyword:"uniqueItems",params:{i: i1, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i1+" are identical)",schema:true,parentSchema:schema64.properties.domains,data:data8};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
break;
}
indices0[item0] = i1;
}
}
}
else {
const err23 = {instancePath:instancePath+"/domains",schemaPath:"#/properties/domains/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema64.properties.domains.type,parentSchema:schema64.properties.domains,data:data8};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
if(data.claims !== undefined){
let data10 = data.claims;
if(data10 && typeof data10 == "object" && !Array.isArray(data10)){
for(const key1 in data10){
const _errs33 = errors;
if(typeof key1 === "string"){
if(!pattern35.test(key1)){
const err24 = {instancePath:instancePath+"/claims",schemaPath:"#/properties/claims/propertyNames/pattern",keyword:"pattern",params:{pattern: "^[!-~]+$"},message:"must match pattern \""+"^[!-~]+$"+"\"",schema:"^[!-~]+$",parentSchema:schema64.properties.claims.propertyNames,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
var valid12 = _errs33 === errors;
if(!valid12){
const err25 = {instancePath:instancePath+"/claims",schemaPath:"#/properties/claims/propertyNames",keyword:"propertyNames",params:{propertyName: key1},message:"property name must be valid",schema:schema64.properties.claims.propertyNames,parentSchema:schema64.properties.claims,data:data10};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
for(const key2 in data10){
let data11 = data10[key2];
if(typeof data11 === "string"){
if(func2(data11) < 1){
const err26 = {instancePath:instancePath+"/claims/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data11};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
else {
const err27 = {instancePath:instancePath+"/claims/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data11};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
}
else {
const err28 = {instancePath:instancePath+"/claims",schemaPath:"#/properties/claims/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema64.properties.claims.type,parentSchema:schema64.properties.claims,data:data10};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
}
}
else {
const err29 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema64.type,parentSchema:schema64,data};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
validate28.errors = vErrors;
return errors === 0;
}
validate28.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema77 = {"description":"A client that the operator registers, by its client identifier.","type":"object","additionalProperties":false,"required":["redirect_uris"],"properties":{"name":{"$ref":"#/$defs/text","description":"Its name on the consent page. Default: its client identifier."},"client_secret":{"$ref":"#/$defs/text","description":"Its client secret. Default: none, a public client."},"redirect_uris":{"description":"Its redirect URIs. The port of a loopback address may be `*`.","type":"array","minItems":1,"uniqueItems":true,"items":{"title":"a URL in which * stands for one part and ** for any rest","type":"string","pattern":"^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}"}},"refresh":{"description":"Whether it gets refresh tokens. Default: `clients.refresh`.","type":"boolean"}}};

function validate32(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate32.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.redirect_uris === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "redirect_uris"},message:"must have required property '"+"redirect_uris"+"'",schema:schema77.required,parentSchema:schema77,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!((((key0 === "name") || (key0 === "client_secret")) || (key0 === "redirect_uris")) || (key0 === "refresh"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema77,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.name !== undefined){
let data0 = data.name;
if(typeof data0 === "string"){
if(func2(data0) < 1){
const err2 = {instancePath:instancePath+"/name",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath:instancePath+"/name",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.client_secret !== undefined){
let data1 = data.client_secret;
if(typeof data1 === "string"){
if(func2(data1) < 1){
const err4 = {instancePath:instancePath+"/client_secret",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/client_secret",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.redirect_uris !== undefined){
let data2 = data.redirect_uris;
if(Array.isArray(data2)){
if(data2.length < 1){
const err6 = {instancePath:instancePath+"/redirect_uris",schemaPath:"#/properties/redirect_uris/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema77.properties.redirect_uris,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
const len0 = data2.length;
for(let i0=0; i0<len0; i0++){
let data3 = data2[i0];
if(typeof data3 === "string"){
if(!pattern36.test(data3)){
const err7 = {instancePath:instancePath+"/redirect_uris/" + i0,schemaPath:"#/properties/redirect_uris/items/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema77.properties.redirect_uris.items,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
else {
const err8 = {instancePath:instancePath+"/redirect_uris/" + i0,schemaPath:"#/properties/redirect_uris/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema77.properties.redirect_uris.items.type,parentSchema:schema77.properties.redirect_uris.items,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
let i1 = data2.length;
let j0;
if(i1 > 1){
const indices0 = {};
for(;i1--;){
let item0 = data2[i1];
if(typeof item0 !== "string"){
continue;
}
if(typeof indices0[item0] == "number"){
j0 = indices0[item0];
const err9 = {instancePath:instancePath+"/redirect_uris",schemaPath:"#/properties/redirect_uris/uniqueItems",keyword:"uniqueItems",params:{i: i1, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i1+" are identical)",schema:true,parentSchema:schema77.properties.redirect_uris,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
break;
}
indices0[item0] = i1;
}
}
}
else {
const err10 = {instancePath:instancePath+"/redirect_uris",schemaPath:"#/properties/redirect_uris/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema77.properties.redirect_uris.type,parentSchema:schema77.properties.redirect_uris,data:data2};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data.refresh !== undefined){
let data4 = data.refresh;
if(typeof data4 !== "boolean"){
const err11 = {instancePath:instancePath+"/refresh",schemaPath:"#/properties/refresh/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema77.properties.refresh.type,parentSchema:schema77.properties.refresh,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
}
else {
const err12 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema77.type,parentSchema:schema77,data};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
validate32.errors = vErrors;
return errors === 0;
}
validate32.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema85 = {"description":"An issuer of identity assertions (ID-JAG), which clients exchange for tokens without a browser.","type":"object","additionalProperties":false,"required":["issuer","clients","scopes"],"properties":{"issuer":{"$ref":"#/$defs/plainUrl","description":"Its issuer identifier, compared byte for byte. Its keys come from its metadata."},"backchannel":{"$ref":"#/$defs/plainUrl","description":"The base URL for calls from the front door, if it differs from the issuer."},"provider":{"$ref":"#/$defs/text","description":"The identity provider whose people its subjects are. Default: its subjects are other people than those of every provider."},"clients":{"description":"The client identifiers that may present its assertions.","type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/text"}},"scopes":{"$ref":"#/$defs/scopes","description":"The scopes that its assertions can give."},"claims":{"description":"As for identity providers, from the assertion.","type":"object","propertyNames":{"title":"the name of a claim","pattern":"^[!-~]+$"},"additionalProperties":{"$ref":"#/$defs/text"}}}};

function validate34(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate34.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.issuer === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "issuer"},message:"must have required property '"+"issuer"+"'",schema:schema85.required,parentSchema:schema85,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.clients === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "clients"},message:"must have required property '"+"clients"+"'",schema:schema85.required,parentSchema:schema85,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.scopes === undefined){
const err2 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "scopes"},message:"must have required property '"+"scopes"+"'",schema:schema85.required,parentSchema:schema85,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
for(const key0 in data){
if(!((((((key0 === "issuer") || (key0 === "backchannel")) || (key0 === "provider")) || (key0 === "clients")) || (key0 === "scopes")) || (key0 === "claims"))){
const err3 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema85,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.issuer !== undefined){
let data0 = data.issuer;
if(typeof data0 === "string"){
if(!pattern13.test(data0)){
const err4 = {instancePath:instancePath+"/issuer",schemaPath:"#/$defs/plainUrl/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema41,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/issuer",schemaPath:"#/$defs/plainUrl/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema41.type,parentSchema:schema41,data:data0};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.backchannel !== undefined){
let data1 = data.backchannel;
if(typeof data1 === "string"){
if(!pattern13.test(data1)){
const err6 = {instancePath:instancePath+"/backchannel",schemaPath:"#/$defs/plainUrl/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema41,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/backchannel",schemaPath:"#/$defs/plainUrl/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema41.type,parentSchema:schema41,data:data1};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.provider !== undefined){
let data2 = data.provider;
if(typeof data2 === "string"){
if(func2(data2) < 1){
const err8 = {instancePath:instancePath+"/provider",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
else {
const err9 = {instancePath:instancePath+"/provider",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.clients !== undefined){
let data3 = data.clients;
if(Array.isArray(data3)){
if(data3.length < 1){
const err10 = {instancePath:instancePath+"/clients",schemaPath:"#/properties/clients/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema85.properties.clients,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
const len0 = data3.length;
for(let i0=0; i0<len0; i0++){
let data4 = data3[i0];
if(typeof data4 === "string"){
if(func2(data4) < 1){
const err11 = {instancePath:instancePath+"/clients/" + i0,schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
else {
const err12 = {instancePath:instancePath+"/clients/" + i0,schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
let i1 = data3.length;
let j0;
if(i1 > 1){
outer0:
for(;i1--;){
for(j0 = i1; j0--;){
if(func0(data3[i1], data3[j0])){
const err13 = {instancePath:instancePath+"/clients",schemaPath:"#/properties/clients/uniqueItems",keyword:"uniqueItems",params:{i: i1, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i1+" are identical)",schema:true,parentSchema:schema85.properties.clients,data:data3};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
break outer0;
}
}
}
}
}
else {
const err14 = {instancePath:instancePath+"/clients",schemaPath:"#/properties/clients/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema85.properties.clients.type,parentSchema:schema85.properties.clients,data:data3};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data.scopes !== undefined){
if(!(validate29(data.scopes, {instancePath:instancePath+"/scopes",parentData:data,parentDataProperty:"scopes",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate29.errors : vErrors.concat(validate29.errors);
errors = vErrors.length;
}
}
if(data.claims !== undefined){
let data6 = data.claims;
if(data6 && typeof data6 == "object" && !Array.isArray(data6)){
for(const key1 in data6){
const _errs19 = errors;
if(typeof key1 === "string"){
if(!pattern35.test(key1)){
const err15 = {instancePath:instancePath+"/claims",schemaPath:"#/properties/claims/propertyNames/pattern",keyword:"pattern",params:{pattern: "^[!-~]+$"},message:"must match pattern \""+"^[!-~]+$"+"\"",schema:"^[!-~]+$",parentSchema:schema85.properties.claims.propertyNames,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
var valid8 = _errs19 === errors;
if(!valid8){
const err16 = {instancePath:instancePath+"/claims",schemaPath:"#/properties/claims/propertyNames",keyword:"propertyNames",params:{propertyName: key1},message:"property name must be valid",schema:schema85.properties.claims.propertyNames,parentSchema:schema85.properties.claims,data:data6};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
for(const key2 in data6){
let data7 = data6[key2];
if(typeof data7 === "string"){
if(func2(data7) < 1){
const err17 = {instancePath:instancePath+"/claims/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data7};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
else {
const err18 = {instancePath:instancePath+"/claims/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data7};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
}
else {
const err19 = {instancePath:instancePath+"/claims",schemaPath:"#/properties/claims/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema85.properties.claims.type,parentSchema:schema85.properties.claims,data:data6};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
}
else {
const err20 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema85.type,parentSchema:schema85,data};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
validate34.errors = vErrors;
return errors === 0;
}
validate34.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema97 = {"description":"A rate, or `off` for no limit.","title":"a rate such as { requests: 100, per: 1s }, or off","type":["object","string"],"pattern":"^off$|\\$\\{(?:env|file):[^}]+\\}","additionalProperties":false,"required":["requests","per"],"properties":{"requests":{"$ref":"#/$defs/count","description":"The number of requests in each `per`, from 1 to 1000000."},"per":{"$ref":"#/$defs/duration","description":"The period. The bucket is refilled evenly over it."},"burst":{"$ref":"#/$defs/count","description":"The number of requests at once after a pause, from 1 to 1000000. Default: `requests`."}}};
const pattern58 = new RegExp("^off$|\\$\\{(?:env|file):[^}]+\\}", "u");
const schema98 = {"title":"a whole number from 1 to 1000000","anyOf":[{"type":"integer","minimum":1,"maximum":1000000},{"$ref":"#/$defs/placeholder"}]};

function validate39(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate39.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
const _errs0 = errors;
let valid0 = false;
const _errs1 = errors;
if(!(((typeof data == "number") && (!(data % 1) && !isNaN(data))) && (isFinite(data)))){
const err0 = {instancePath,schemaPath:"#/anyOf/0/type",keyword:"type",params:{type: "integer"},message:"must be integer",schema:schema98.anyOf[0].type,parentSchema:schema98.anyOf[0],data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if((typeof data == "number") && (isFinite(data))){
if(data > 1000000 || isNaN(data)){
const err1 = {instancePath,schemaPath:"#/anyOf/0/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1000000},message:"must be <= 1000000",schema:1000000,parentSchema:schema98.anyOf[0],data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data < 1 || isNaN(data)){
const err2 = {instancePath,schemaPath:"#/anyOf/0/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1",schema:1,parentSchema:schema98.anyOf[0],data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
var _valid0 = _errs1 === errors;
valid0 = valid0 || _valid0;
const _errs3 = errors;
if(typeof data === "string"){
if(!pattern15.test(data)){
const err3 = {instancePath,schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath,schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
var _valid0 = _errs3 === errors;
valid0 = valid0 || _valid0;
if(!valid0){
const err5 = {instancePath,schemaPath:"#/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema98.anyOf,parentSchema:schema98,data};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
else {
errors = _errs0;
if(vErrors !== null){
if(_errs0){
vErrors.length = _errs0;
}
else {
vErrors = null;
}
}
}
validate39.errors = vErrors;
return errors === 0;
}
validate39.evaluated = {"dynamicProps":false,"dynamicItems":false};


function validate38(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate38.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if((!(data && typeof data == "object" && !Array.isArray(data))) && (typeof data !== "string")){
const err0 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: schema97.type},message:"must be object,string",schema:schema97.type,parentSchema:schema97,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(typeof data === "string"){
if(!pattern58.test(data)){
const err1 = {instancePath,schemaPath:"#/pattern",keyword:"pattern",params:{pattern: "^off$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^off$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^off$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema97,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.requests === undefined){
const err2 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "requests"},message:"must have required property '"+"requests"+"'",schema:schema97.required,parentSchema:schema97,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.per === undefined){
const err3 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "per"},message:"must have required property '"+"per"+"'",schema:schema97.required,parentSchema:schema97,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
for(const key0 in data){
if(!(((key0 === "requests") || (key0 === "per")) || (key0 === "burst"))){
const err4 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema97,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.requests !== undefined){
if(!(validate39(data.requests, {instancePath:instancePath+"/requests",parentData:data,parentDataProperty:"requests",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate39.errors : vErrors.concat(validate39.errors);
errors = vErrors.length;
}
}
if(data.per !== undefined){
let data1 = data.per;
if(typeof data1 === "string"){
if(!pattern19.test(data1)){
const err5 = {instancePath:instancePath+"/per",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/per",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.burst !== undefined){
if(!(validate39(data.burst, {instancePath:instancePath+"/burst",parentData:data,parentDataProperty:"burst",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate39.errors : vErrors.concat(validate39.errors);
errors = vErrors.length;
}
}
}
validate38.errors = vErrors;
return errors === 0;
}
validate38.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema108 = {"description":"A path prefix, its access rules, and the upstream server.","type":"object","additionalProperties":false,"required":["name","path","upstream"],"properties":{"name":{"$ref":"#/$defs/name","description":"The label in metrics and logs. Unique."},"path":{"description":"Whole segments: `/mcp` matches /mcp and /mcp/…, never /mcpx. The longest path wins.","title":"a path such as /mcp","type":"string","pattern":"^/[^\\\\%;?#*{}]*$|\\$\\{(?:env|file):[^}]+\\}"},"protocol":{"description":"`mcp` reads the Model Context Protocol's messages, so that a policy can decide by tool. Default: http.","title":"http or mcp","anyOf":[{"enum":["http","mcp"]},{"$ref":"#/$defs/placeholder"}]},"resource":{"description":"The protected resource metadata (RFC 9728) of this route. An mcp route publishes metadata even without this key.","type":"object","additionalProperties":false,"properties":{"name":{"$ref":"#/$defs/text","description":"`resource_name`, shown to users."},"scopes_supported":{"$ref":"#/$defs/scopes","description":"`scopes_supported`."},"documentation":{"$ref":"#/$defs/link","description":"`resource_documentation`."},"policy_uri":{"$ref":"#/$defs/link","description":"`resource_policy_uri`."},"tos_uri":{"$ref":"#/$defs/link","description":"`resource_tos_uri`."}}},"authorization_servers":{"description":"The `authorization_servers` that this route trusts. Optional if only one is defined.","type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/name"}},"audience":{"description":"`aud` must contain one of these exactly. Required for http; the default for mcp is `public_url` + `path`.","title":"an audience or a list of them","anyOf":[{"type":"string","minLength":1},{"type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/text"}}]},"tokens":{"description":"Accepted forms of tokens. With `jwt`, a server that has only `introspection` is asked about JWTs too. Default: the forms that the trusted authorization servers allow, `jwt` if one has `jwt`, `opaque` if one has `introspection`.","type":"array","minItems":1,"uniqueItems":true,"items":{"title":"jwt or opaque","anyOf":[{"enum":["jwt","opaque"]},{"$ref":"#/$defs/placeholder"}]}},"opaque_tokens":{"description":"The servers that the gateway asks about an opaque token if the route trusts several with `introspection`. `by_prefix`: the server whose `prefix` the token has; every server needs a prefix. `shown_to_all`: the gateway sends a token without a known prefix to each server without a prefix, in the order of `authorization_servers`, until one knows it. Each of these servers can then use the tokens of the others. Default: by_prefix.","title":"by_prefix or shown_to_all","anyOf":[{"enum":["by_prefix","shown_to_all"]},{"$ref":"#/$defs/placeholder"}]},"policy":{"$ref":"#/$defs/name","description":"The policy: `demo` is policies/demo.yaml. Without a policy the route accepts any valid token for its audience."},"methods":{"description":"Accepted HTTP methods; any other gets 405. Default: all.","type":"array","minItems":1,"uniqueItems":true,"items":{"title":"an HTTP method in upper case","type":"string","pattern":"^[A-Z][A-Z-]*$|\\$\\{(?:env|file):[^}]+\\}"}},"public":{"description":"`true` opens the route to every caller, without token or policy. No other setting opens a route.","type":"boolean"},"upgrade":{"description":"`websocket` allows WebSocket upgrades, authorized like any request. Not for mcp.","title":"websocket","anyOf":[{"enum":["websocket"]},{"$ref":"#/$defs/placeholder"}]},"below":{"description":"mcp only. The handling of messages to paths below `path`. `refuse`: they get 404. `pass`: the rest of the path is appended to `upstream.url`; the policy does not see it. Default: refuse.","title":"refuse or pass","anyOf":[{"enum":["refuse","pass"]},{"$ref":"#/$defs/placeholder"}]},"query":{"description":"mcp only. The handling of requests with a query. `refuse`: they get 400. `pass`: the upstream gets the query; the policy does not see it. Default: refuse.","title":"refuse or pass","anyOf":[{"enum":["refuse","pass"]},{"$ref":"#/$defs/placeholder"}]},"first_challenge":{"description":"For a route with `resource`: the scopes that a 401 names. `policy`: those at the top of the policy, which every call needs. `supported`: all of `resource.scopes_supported`. `none`: none. Some clients register with exactly these scopes, and some authorization servers never grant such a client more: use `supported` there, and list each scope of the policy. Users then see all of them at the first sign-in. Default: policy; on an http route none.","title":"policy, supported or none","anyOf":[{"enum":["policy","supported","none"]},{"$ref":"#/$defs/placeholder"}]},"refusals":{"description":"mcp only. How the gateway answers calls that it refuses.","type":"object","properties":{"final":{"description":"The answer to a `tools/call` that the policy refuses whatever token the caller gets. `http`: 403 with a JSON-RPC error, which some clients drop unread. `tool_error`: 200 with a tool result that is an error, which AI models read; the decision log and metrics count it as a denial. What a new token can mend stays a 401 or 403. Default: http.","title":"http or tool_error","anyOf":[{"enum":["http","tool_error"]},{"$ref":"#/$defs/placeholder"}]}},"additionalProperties":false},"keepalive":{"$ref":"#/$defs/duration","description":"The interval after which the gateway sends a comment into a quiet event stream, so that proxies do not close it. Default: never."},"rate":{"$ref":"#/$defs/rate","description":"Like limits.rate, for this route. Default: limits.rate."},"dpop":{"description":"Accept DPoP-bound tokens with a proof of possession of the client's key, RFC 9449; `{}` enables it. Default: tokens that are bound to a key are refused.","type":"object","additionalProperties":false,"properties":{"required":{"description":"`true` refuses tokens that are bound neither to a key nor to a client certificate. Default: false.","type":"boolean"},"nonce":{"description":"`true` requires a nonce of the gateway in each proof, RFC 9449 §9, so that proofs cannot be made in advance; replicas need the same `session_key`. Default: false.","type":"boolean"},"algorithms":{"$ref":"#/$defs/algorithms","description":"The accepted signature algorithms of proofs. Default: all of them."},"proof_lifetime":{"$ref":"#/$defs/duration","description":"The maximum difference between `iat` of a proof and the gateway's clock, in the past or in the future; at most 5m. Each proof is accepted once and remembered for as long as it would be accepted. Default: 5m."}}},"revalidate":{"$ref":"#/$defs/duration","description":"The interval at which the gateway checks the token again while an event stream, another answer without a length, or a WebSocket is open. The gateway ends the stream if the token is no longer valid. Default: never for a token with an expiry, because the stream ends then; 30s for an opaque token without `exp`, whose stream would otherwise never end. No setting disables that check."},"upstream":{"$ref":"#/$defs/upstream"}}};
const schema109 = {"title":"a name of letters, digits, dots, dashes and underscores","type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}"};
const schema112 = {"title":"an http(s) URL","type":"string","pattern":"^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}"};
const pattern66 = new RegExp("^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern67 = new RegExp("^/[^\\\\%;?#*{}]*$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern69 = new RegExp("^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}", "u");
const pattern76 = new RegExp("^[A-Z][A-Z-]*$|\\$\\{(?:env|file):[^}]+\\}", "u");
const schema128 = {"description":"The server behind the route, and what the gateway sends to it.","type":"object","additionalProperties":false,"required":["url"],"properties":{"url":{"$ref":"#/$defs/plainUrl","description":"Its path replaces the matched path of the route. The rest of the path and the query are kept; on an mcp route only with `below: pass` and `query: pass`."},"identity":{"description":"Claims as request headers: `x-auth-subject: sub`, or with a JSON Pointer, `x-auth-actor: /act/sub`. Headers of these names from the client are always removed.","type":"object","propertyNames":{"title":"a header name","pattern":"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},"properties":{"signed":{"description":"The header for a signed statement of the caller's identity, such as `x-auth-identity`, or a mapping with more settings. The statement is a JWT of the gateway (ES256, one minute), verified with /.well-known/sallyport-jwks.json. Default: none.","title":"a header name, or a mapping with one","type":["string","object"],"minLength":1,"pattern":"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$|\\$\\{(?:env|file):[^}]+\\}","additionalProperties":false,"required":["header"],"properties":{"header":{"description":"The header that carries it.","title":"a header name","type":"string","pattern":"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$|\\$\\{(?:env|file):[^}]+\\}"},"audience":{"$ref":"#/$defs/text","description":"`aud` of the statement. Default: `url`, without a trailing slash."},"claims":{"description":"Claims of the token that the statement repeats, named as in a policy, under the same names. Default: only subject, client and scopes.","type":"array","uniqueItems":true,"items":{"$ref":"#/$defs/text"}}}}},"additionalProperties":{"$ref":"#/$defs/text"}},"token":{"description":"The `Authorization` that the upstream gets: none, the signed answer of introspection (`phantom`; requires `introspection.response: jwt`, which describes it, and `tokens: [opaque]`), a new token by RFC 8693 (`exchange`), or the client's token (`forward`, http only). Default: none.","title":"none, phantom, exchange or forward","anyOf":[{"enum":["none","phantom","exchange","forward"]},{"$ref":"#/$defs/placeholder"}]},"exchange":{"description":"The token exchange for the upstream, RFC 8693; requires `token: exchange`.","type":"object","additionalProperties":false,"properties":{"server":{"$ref":"#/$defs/name","description":"The one of `authorization_servers` that exchanges tokens. Optional if only one is defined."},"client_id":{"$ref":"#/$defs/text","description":"The gateway's client identifier at that server. Default: that of the server's `introspection`."},"client_secret":{"$ref":"#/$defs/text","description":"The gateway's client secret at that server. Default: that of the server's `introspection`."},"client_auth":{"$ref":"#/$defs/clientAuth"},"client_key":{"$ref":"#/$defs/clientKey"},"client_key_id":{"$ref":"#/$defs/clientKeyId"},"endpoint":{"$ref":"#/$defs/url","description":"The token endpoint. Default: `token_endpoint` of the server's metadata."},"audience":{"$ref":"#/$defs/texts","description":"`audience` of the request, one or a list: the intended audience of the new token, by a name that the server knows. Default: none."},"resource":{"$ref":"#/$defs/texts","description":"`resource` of the request, one or a list: the intended audience as absolute URIs, RFC 8707. Default: none."},"scope":{"$ref":"#/$defs/scopes","description":"`scope` of the request; a grant that lacks one of them is refused. Default: the server decides."},"token_type":{"$ref":"#/$defs/exchangedType","description":"`requested_token_type`: the type of the upstream's token. With jwt, an answer of another type is refused. Default: access_token."},"subject_token_type":{"$ref":"#/$defs/exchangedType","description":"`subject_token_type`: the declared type of the caller's token. Default: access_token."},"actor":{"description":"The actor in the exchange, RFC 8693 §1.1: none, or the gateway, with an `actor_token` that it gets by the client credentials grant. Default: none.","title":"none or client_credentials","anyOf":[{"enum":["none","client_credentials"]},{"$ref":"#/$defs/placeholder"}]}}},"allow_response_headers":{"description":"Response headers to forward although they control a proxy in front, or the whole origin in a browser. In lower case: `alt-svc`, `clear-site-data`, `x-accel-charset`, `x-accel-limit-rate`, `x-accel-redirect`, `x-lighttpd-send-file`, `x-litespeed-location`, `x-reproxy-file`, `x-reproxy-url`, `x-sendfile`, `x-sendfile2`. The gateway removes those that are not listed here. Default: none.","type":"array","uniqueItems":true,"items":{"title":"alt-svc, clear-site-data, x-accel-charset, x-accel-limit-rate, x-accel-redirect, x-lighttpd-send-file, x-litespeed-location, x-reproxy-file, x-reproxy-url, x-sendfile or x-sendfile2","anyOf":[{"enum":["alt-svc","clear-site-data","x-accel-charset","x-accel-limit-rate","x-accel-redirect","x-lighttpd-send-file","x-litespeed-location","x-reproxy-file","x-reproxy-url","x-sendfile","x-sendfile2"]},{"$ref":"#/$defs/placeholder"}]}},"timeouts":{"description":"The time limits for the upstream. Accurate to about half a second; a limit under one second may take up to 1.5 s.","type":"object","additionalProperties":false,"properties":{"connect":{"$ref":"#/$defs/duration","description":"Until the connection is established. Default: 5s."},"response":{"$ref":"#/$defs/duration","description":"Until the header section of the response. A stream has no time limit. Default: 60s."}}}}};
const pattern87 = new RegExp("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$|\\$\\{(?:env|file):[^}]+\\}", "u");
const schema140 = {"title":"a string or a list of them","anyOf":[{"type":"string","minLength":1},{"type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/text"}}]};

function validate50(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate50.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
const _errs0 = errors;
let valid0 = false;
const _errs1 = errors;
if(typeof data === "string"){
if(func2(data) < 1){
const err0 = {instancePath,schemaPath:"#/anyOf/0/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema140.anyOf[0],data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
else {
const err1 = {instancePath,schemaPath:"#/anyOf/0/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema140.anyOf[0].type,parentSchema:schema140.anyOf[0],data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
var _valid0 = _errs1 === errors;
valid0 = valid0 || _valid0;
const _errs3 = errors;
if(Array.isArray(data)){
if(data.length < 1){
const err2 = {instancePath,schemaPath:"#/anyOf/1/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema140.anyOf[1],data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
let data0 = data[i0];
if(typeof data0 === "string"){
if(func2(data0) < 1){
const err3 = {instancePath:instancePath+"/" + i0,schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/" + i0,schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
let i1 = data.length;
let j0;
if(i1 > 1){
outer0:
for(;i1--;){
for(j0 = i1; j0--;){
if(func0(data[i1], data[j0])){
const err5 = {instancePath,schemaPath:"#/anyOf/1/uniqueItems",keyword:"uniqueItems",params:{i: i1, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i1+" are identical)",schema:true,parentSchema:schema140.anyOf[1],data};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
break outer0;
}
}
}
}
}
else {
const err6 = {instancePath,schemaPath:"#/anyOf/1/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema140.anyOf[1].type,parentSchema:schema140.anyOf[1],data};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
var _valid0 = _errs3 === errors;
valid0 = valid0 || _valid0;
if(_valid0){
var items0 = true;
}
if(!valid0){
const err7 = {instancePath,schemaPath:"#/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema140.anyOf,parentSchema:schema140,data};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
else {
errors = _errs0;
if(vErrors !== null){
if(_errs0){
vErrors.length = _errs0;
}
else {
vErrors = null;
}
}
}
validate50.errors = vErrors;
evaluated0.items = items0;
return errors === 0;
}
validate50.evaluated = {"dynamicProps":false,"dynamicItems":true};

const schema142 = {"title":"access_token or jwt","anyOf":[{"enum":["access_token","jwt"]},{"$ref":"#/$defs/placeholder"}]};

function validate54(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate54.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
const _errs0 = errors;
let valid0 = false;
const _errs1 = errors;
if(!((data === "access_token") || (data === "jwt"))){
const err0 = {instancePath,schemaPath:"#/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema142.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema142.anyOf[0].enum,parentSchema:schema142.anyOf[0],data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
var _valid0 = _errs1 === errors;
valid0 = valid0 || _valid0;
const _errs2 = errors;
if(typeof data === "string"){
if(!pattern15.test(data)){
const err1 = {instancePath,schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
else {
const err2 = {instancePath,schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
var _valid0 = _errs2 === errors;
valid0 = valid0 || _valid0;
if(!valid0){
const err3 = {instancePath,schemaPath:"#/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema142.anyOf,parentSchema:schema142,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
else {
errors = _errs0;
if(vErrors !== null){
if(_errs0){
vErrors.length = _errs0;
}
else {
vErrors = null;
}
}
}
validate54.errors = vErrors;
return errors === 0;
}
validate54.evaluated = {"dynamicProps":false,"dynamicItems":false};


function validate48(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate48.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.url === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "url"},message:"must have required property '"+"url"+"'",schema:schema128.required,parentSchema:schema128,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!((((((key0 === "url") || (key0 === "identity")) || (key0 === "token")) || (key0 === "exchange")) || (key0 === "allow_response_headers")) || (key0 === "timeouts"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema128,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.url !== undefined){
let data0 = data.url;
if(typeof data0 === "string"){
if(!pattern13.test(data0)){
const err2 = {instancePath:instancePath+"/url",schemaPath:"#/$defs/plainUrl/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema41,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
else {
const err3 = {instancePath:instancePath+"/url",schemaPath:"#/$defs/plainUrl/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema41.type,parentSchema:schema41,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.identity !== undefined){
let data1 = data.identity;
if(data1 && typeof data1 == "object" && !Array.isArray(data1)){
for(const key1 in data1){
const _errs7 = errors;
if(typeof key1 === "string"){
if(!pattern65.test(key1)){
const err4 = {instancePath:instancePath+"/identity",schemaPath:"#/properties/identity/propertyNames/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},message:"must match pattern \""+"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"+"\"",schema:"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",parentSchema:schema128.properties.identity.propertyNames,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
var valid2 = _errs7 === errors;
if(!valid2){
const err5 = {instancePath:instancePath+"/identity",schemaPath:"#/properties/identity/propertyNames",keyword:"propertyNames",params:{propertyName: key1},message:"property name must be valid",schema:schema128.properties.identity.propertyNames,parentSchema:schema128.properties.identity,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
for(const key2 in data1){
if(!(key2 === "signed")){
let data2 = data1[key2];
if(typeof data2 === "string"){
if(func2(data2) < 1){
const err6 = {instancePath:instancePath+"/identity/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/identity/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
if(data1.signed !== undefined){
let data3 = data1.signed;
if((typeof data3 !== "string") && (!(data3 && typeof data3 == "object" && !Array.isArray(data3)))){
const err8 = {instancePath:instancePath+"/identity/signed",schemaPath:"#/properties/identity/properties/signed/type",keyword:"type",params:{type: schema128.properties.identity.properties.signed.type},message:"must be string,object",schema:schema128.properties.identity.properties.signed.type,parentSchema:schema128.properties.identity.properties.signed,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(typeof data3 === "string"){
if(func2(data3) < 1){
const err9 = {instancePath:instancePath+"/identity/signed",schemaPath:"#/properties/identity/properties/signed/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema128.properties.identity.properties.signed,data:data3};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
if(!pattern87.test(data3)){
const err10 = {instancePath:instancePath+"/identity/signed",schemaPath:"#/properties/identity/properties/signed/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema128.properties.identity.properties.signed,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
if(data3.header === undefined){
const err11 = {instancePath:instancePath+"/identity/signed",schemaPath:"#/properties/identity/properties/signed/required",keyword:"required",params:{missingProperty: "header"},message:"must have required property '"+"header"+"'",schema:schema128.properties.identity.properties.signed.required,parentSchema:schema128.properties.identity.properties.signed,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
for(const key3 in data3){
if(!(((key3 === "header") || (key3 === "audience")) || (key3 === "claims"))){
const err12 = {instancePath:instancePath+"/identity/signed",schemaPath:"#/properties/identity/properties/signed/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3},message:"must NOT have additional properties",schema:false,parentSchema:schema128.properties.identity.properties.signed,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data3.header !== undefined){
let data4 = data3.header;
if(typeof data4 === "string"){
if(!pattern87.test(data4)){
const err13 = {instancePath:instancePath+"/identity/signed/header",schemaPath:"#/properties/identity/properties/signed/properties/header/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema128.properties.identity.properties.signed.properties.header,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
else {
const err14 = {instancePath:instancePath+"/identity/signed/header",schemaPath:"#/properties/identity/properties/signed/properties/header/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema128.properties.identity.properties.signed.properties.header.type,parentSchema:schema128.properties.identity.properties.signed.properties.header,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data3.audience !== undefined){
let data5 = data3.audience;
if(typeof data5 === "string"){
if(func2(data5) < 1){
const err15 = {instancePath:instancePath+"/identity/signed/audience",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
else {
const err16 = {instancePath:instancePath+"/identity/signed/audience",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
if(data3.claims !== undefined){
let data6 = data3.claims;
if(Array.isArray(data6)){
const len0 = data6.length;
for(let i0=0; i0<len0; i0++){
let data7 = data6[i0];
if(typeof data7 === "string"){
if(func2(data7) < 1){
const err17 = {instancePath:instancePath+"/identity/signed/claims/" + i0,schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data7};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
else {
const err18 = {instancePath:instancePath+"/identity/signed/claims/" + i0,schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data7};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
let i1 = data6.length;
let j0;
if(i1 > 1){
outer0:
for(;i1--;){
for(j0 = i1; j0--;){
if(func0(data6[i1], data6[j0])){
const err19 = {instancePath:instancePath+"/identity/signed/claims",schemaPath:"#/properties/identity/properties/signed/properties/claims/uniqueItems",keyword:"uniqueItems",params:{i: i1, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i1+" are identical)",schema:true,parentSchema:schema128.properties.identity.properties.signed.properties.claims,data:data6};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
break outer0;
}
}
}
}
}
else {
const err20 = {instancePath:instancePath+"/identity/signed/claims",schemaPath:"#/properties/identity/properties/signed/properties/claims/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema128.properties.identity.properties.signed.properties.claims.type,parentSchema:schema128.properties.identity.properties.signed.properties.claims,data:data6};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
}
}
}
else {
const err21 = {instancePath:instancePath+"/identity",schemaPath:"#/properties/identity/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema128.properties.identity.type,parentSchema:schema128.properties.identity,data:data1};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
if(data.token !== undefined){
let data8 = data.token;
const _errs26 = errors;
let valid12 = false;
const _errs27 = errors;
if(!((((data8 === "none") || (data8 === "phantom")) || (data8 === "exchange")) || (data8 === "forward"))){
const err22 = {instancePath:instancePath+"/token",schemaPath:"#/properties/token/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema128.properties.token.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema128.properties.token.anyOf[0].enum,parentSchema:schema128.properties.token.anyOf[0],data:data8};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
var _valid0 = _errs27 === errors;
valid12 = valid12 || _valid0;
const _errs28 = errors;
if(typeof data8 === "string"){
if(!pattern15.test(data8)){
const err23 = {instancePath:instancePath+"/token",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data8};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
else {
const err24 = {instancePath:instancePath+"/token",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data8};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
var _valid0 = _errs28 === errors;
valid12 = valid12 || _valid0;
if(!valid12){
const err25 = {instancePath:instancePath+"/token",schemaPath:"#/properties/token/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema128.properties.token.anyOf,parentSchema:schema128.properties.token,data:data8};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
else {
errors = _errs26;
if(vErrors !== null){
if(_errs26){
vErrors.length = _errs26;
}
else {
vErrors = null;
}
}
}
}
if(data.exchange !== undefined){
let data9 = data.exchange;
if(data9 && typeof data9 == "object" && !Array.isArray(data9)){
for(const key4 in data9){
if(!(func1.call(schema128.properties.exchange.properties, key4))){
const err26 = {instancePath:instancePath+"/exchange",schemaPath:"#/properties/exchange/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key4},message:"must NOT have additional properties",schema:false,parentSchema:schema128.properties.exchange,data:data9};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
if(data9.server !== undefined){
let data10 = data9.server;
if(typeof data10 === "string"){
if(!pattern66.test(data10)){
const err27 = {instancePath:instancePath+"/exchange/server",schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema109,data:data10};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
else {
const err28 = {instancePath:instancePath+"/exchange/server",schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema109.type,parentSchema:schema109,data:data10};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
}
if(data9.client_id !== undefined){
let data11 = data9.client_id;
if(typeof data11 === "string"){
if(func2(data11) < 1){
const err29 = {instancePath:instancePath+"/exchange/client_id",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data11};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
}
else {
const err30 = {instancePath:instancePath+"/exchange/client_id",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data11};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
}
if(data9.client_secret !== undefined){
let data12 = data9.client_secret;
if(typeof data12 === "string"){
if(func2(data12) < 1){
const err31 = {instancePath:instancePath+"/exchange/client_secret",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data12};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
}
else {
const err32 = {instancePath:instancePath+"/exchange/client_secret",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data12};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
}
if(data9.client_auth !== undefined){
if(!(validate24(data9.client_auth, {instancePath:instancePath+"/exchange/client_auth",parentData:data9,parentDataProperty:"client_auth",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate24.errors : vErrors.concat(validate24.errors);
errors = vErrors.length;
}
}
if(data9.client_key !== undefined){
let data14 = data9.client_key;
if(typeof data14 === "string"){
if(func2(data14) < 1){
const err33 = {instancePath:instancePath+"/exchange/client_key",schemaPath:"#/$defs/clientKey/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data14};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
}
else {
const err34 = {instancePath:instancePath+"/exchange/client_key",schemaPath:"#/$defs/clientKey/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data14};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
}
if(data9.client_key_id !== undefined){
let data15 = data9.client_key_id;
if(typeof data15 === "string"){
if(func2(data15) < 1){
const err35 = {instancePath:instancePath+"/exchange/client_key_id",schemaPath:"#/$defs/clientKeyId/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data15};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
}
else {
const err36 = {instancePath:instancePath+"/exchange/client_key_id",schemaPath:"#/$defs/clientKeyId/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data15};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
}
if(data9.endpoint !== undefined){
let data16 = data9.endpoint;
if(typeof data16 === "string"){
if(!pattern16.test(data16)){
const err37 = {instancePath:instancePath+"/exchange/endpoint",schemaPath:"#/$defs/url/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s#]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema46,data:data16};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
}
else {
const err38 = {instancePath:instancePath+"/exchange/endpoint",schemaPath:"#/$defs/url/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema46.type,parentSchema:schema46,data:data16};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
}
if(data9.audience !== undefined){
if(!(validate50(data9.audience, {instancePath:instancePath+"/exchange/audience",parentData:data9,parentDataProperty:"audience",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate50.errors : vErrors.concat(validate50.errors);
errors = vErrors.length;
}
}
if(data9.resource !== undefined){
if(!(validate50(data9.resource, {instancePath:instancePath+"/exchange/resource",parentData:data9,parentDataProperty:"resource",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate50.errors : vErrors.concat(validate50.errors);
errors = vErrors.length;
}
}
if(data9.scope !== undefined){
if(!(validate29(data9.scope, {instancePath:instancePath+"/exchange/scope",parentData:data9,parentDataProperty:"scope",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate29.errors : vErrors.concat(validate29.errors);
errors = vErrors.length;
}
}
if(data9.token_type !== undefined){
if(!(validate54(data9.token_type, {instancePath:instancePath+"/exchange/token_type",parentData:data9,parentDataProperty:"token_type",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate54.errors : vErrors.concat(validate54.errors);
errors = vErrors.length;
}
}
if(data9.subject_token_type !== undefined){
if(!(validate54(data9.subject_token_type, {instancePath:instancePath+"/exchange/subject_token_type",parentData:data9,parentDataProperty:"subject_token_type",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate54.errors : vErrors.concat(validate54.errors);
errors = vErrors.length;
}
}
if(data9.actor !== undefined){
let data22 = data9.actor;
const _errs59 = errors;
let valid21 = false;
const _errs60 = errors;
if(!((data22 === "none") || (data22 === "client_credentials"))){
const err39 = {instancePath:instancePath+"/exchange/actor",schemaPath:"#/properties/exchange/properties/actor/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema128.properties.exchange.properties.actor.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema128.properties.exchange.properties.actor.anyOf[0].enum,parentSchema:schema128.properties.exchange.properties.actor.anyOf[0],data:data22};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
var _valid1 = _errs60 === errors;
valid21 = valid21 || _valid1;
const _errs61 = errors;
if(typeof data22 === "string"){
if(!pattern15.test(data22)){
const err40 = {instancePath:instancePath+"/exchange/actor",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data22};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
}
else {
const err41 = {instancePath:instancePath+"/exchange/actor",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data22};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
var _valid1 = _errs61 === errors;
valid21 = valid21 || _valid1;
if(!valid21){
const err42 = {instancePath:instancePath+"/exchange/actor",schemaPath:"#/properties/exchange/properties/actor/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema128.properties.exchange.properties.actor.anyOf,parentSchema:schema128.properties.exchange.properties.actor,data:data22};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
else {
errors = _errs59;
if(vErrors !== null){
if(_errs59){
vErrors.length = _errs59;
}
else {
vErrors = null;
}
}
}
}
}
else {
const err43 = {instancePath:instancePath+"/exchange",schemaPath:"#/properties/exchange/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema128.properties.exchange.type,parentSchema:schema128.properties.exchange,data:data9};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
}
if(data.allow_response_headers !== undefined){
let data23 = data.allow_response_headers;
if(Array.isArray(data23)){
const len1 = data23.length;
for(let i2=0; i2<len1; i2++){
let data24 = data23[i2];
const _errs67 = errors;
let valid25 = false;
const _errs68 = errors;
if(!(((((((((((data24 === "alt-svc") || (data24 === "clear-site-data")) || (data24 === "x-accel-charset")) || (data24 === "x-accel-limit-rate")) || (data24 === "x-accel-redirect")) || (data24 === "x-lighttpd-send-file")) || (data24 === "x-litespeed-location")) || (data24 === "x-reproxy-file")) || (data24 === "x-reproxy-url")) || (data24 === "x-sendfile")) || (data24 === "x-sendfile2"))){
const err44 = {instancePath:instancePath+"/allow_response_headers/" + i2,schemaPath:"#/properties/allow_response_headers/items/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema128.properties.allow_response_headers.items.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema128.properties.allow_response_headers.items.anyOf[0].enum,parentSchema:schema128.properties.allow_response_headers.items.anyOf[0],data:data24};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
var _valid2 = _errs68 === errors;
valid25 = valid25 || _valid2;
const _errs69 = errors;
if(typeof data24 === "string"){
if(!pattern15.test(data24)){
const err45 = {instancePath:instancePath+"/allow_response_headers/" + i2,schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data24};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
}
else {
const err46 = {instancePath:instancePath+"/allow_response_headers/" + i2,schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data24};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
var _valid2 = _errs69 === errors;
valid25 = valid25 || _valid2;
if(!valid25){
const err47 = {instancePath:instancePath+"/allow_response_headers/" + i2,schemaPath:"#/properties/allow_response_headers/items/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema128.properties.allow_response_headers.items.anyOf,parentSchema:schema128.properties.allow_response_headers.items,data:data24};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
else {
errors = _errs67;
if(vErrors !== null){
if(_errs67){
vErrors.length = _errs67;
}
else {
vErrors = null;
}
}
}
}
let i3 = data23.length;
let j1;
if(i3 > 1){
outer1:
for(;i3--;){
for(j1 = i3; j1--;){
if(func0(data23[i3], data23[j1])){
const err48 = {instancePath:instancePath+"/allow_response_headers",schemaPath:"#/properties/allow_response_headers/uniqueItems",keyword:"uniqueItems",params:{i: i3, j: j1},message:"must NOT have duplicate items (items ## "+j1+" and "+i3+" are identical)",schema:true,parentSchema:schema128.properties.allow_response_headers,data:data23};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
break outer1;
}
}
}
}
}
else {
const err49 = {instancePath:instancePath+"/allow_response_headers",schemaPath:"#/properties/allow_response_headers/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema128.properties.allow_response_headers.type,parentSchema:schema128.properties.allow_response_headers,data:data23};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
}
if(data.timeouts !== undefined){
let data25 = data.timeouts;
if(data25 && typeof data25 == "object" && !Array.isArray(data25)){
for(const key5 in data25){
if(!((key5 === "connect") || (key5 === "response"))){
const err50 = {instancePath:instancePath+"/timeouts",schemaPath:"#/properties/timeouts/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key5},message:"must NOT have additional properties",schema:false,parentSchema:schema128.properties.timeouts,data:data25};
if(vErrors === null){
vErrors = [err50];
}
else {
vErrors.push(err50);
}
errors++;
}
}
if(data25.connect !== undefined){
let data26 = data25.connect;
if(typeof data26 === "string"){
if(!pattern19.test(data26)){
const err51 = {instancePath:instancePath+"/timeouts/connect",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data26};
if(vErrors === null){
vErrors = [err51];
}
else {
vErrors.push(err51);
}
errors++;
}
}
else {
const err52 = {instancePath:instancePath+"/timeouts/connect",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data26};
if(vErrors === null){
vErrors = [err52];
}
else {
vErrors.push(err52);
}
errors++;
}
}
if(data25.response !== undefined){
let data27 = data25.response;
if(typeof data27 === "string"){
if(!pattern19.test(data27)){
const err53 = {instancePath:instancePath+"/timeouts/response",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data27};
if(vErrors === null){
vErrors = [err53];
}
else {
vErrors.push(err53);
}
errors++;
}
}
else {
const err54 = {instancePath:instancePath+"/timeouts/response",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data27};
if(vErrors === null){
vErrors = [err54];
}
else {
vErrors.push(err54);
}
errors++;
}
}
}
else {
const err55 = {instancePath:instancePath+"/timeouts",schemaPath:"#/properties/timeouts/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema128.properties.timeouts.type,parentSchema:schema128.properties.timeouts,data:data25};
if(vErrors === null){
vErrors = [err55];
}
else {
vErrors.push(err55);
}
errors++;
}
}
}
else {
const err56 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema128.type,parentSchema:schema128,data};
if(vErrors === null){
vErrors = [err56];
}
else {
vErrors.push(err56);
}
errors++;
}
validate48.errors = vErrors;
return errors === 0;
}
validate48.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate44(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate44.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.name === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "name"},message:"must have required property '"+"name"+"'",schema:schema108.required,parentSchema:schema108,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.path === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "path"},message:"must have required property '"+"path"+"'",schema:schema108.required,parentSchema:schema108,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.upstream === undefined){
const err2 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "upstream"},message:"must have required property '"+"upstream"+"'",schema:schema108.required,parentSchema:schema108,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
for(const key0 in data){
if(!(func1.call(schema108.properties, key0))){
const err3 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema108,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.name !== undefined){
let data0 = data.name;
if(typeof data0 === "string"){
if(!pattern66.test(data0)){
const err4 = {instancePath:instancePath+"/name",schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema109,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/name",schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema109.type,parentSchema:schema109,data:data0};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.path !== undefined){
let data1 = data.path;
if(typeof data1 === "string"){
if(!pattern67.test(data1)){
const err6 = {instancePath:instancePath+"/path",schemaPath:"#/properties/path/pattern",keyword:"pattern",params:{pattern: "^/[^\\\\%;?#*{}]*$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^/[^\\\\%;?#*{}]*$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^/[^\\\\%;?#*{}]*$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema108.properties.path,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/path",schemaPath:"#/properties/path/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema108.properties.path.type,parentSchema:schema108.properties.path,data:data1};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.protocol !== undefined){
let data2 = data.protocol;
const _errs8 = errors;
let valid2 = false;
const _errs9 = errors;
if(!((data2 === "http") || (data2 === "mcp"))){
const err8 = {instancePath:instancePath+"/protocol",schemaPath:"#/properties/protocol/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema108.properties.protocol.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema108.properties.protocol.anyOf[0].enum,parentSchema:schema108.properties.protocol.anyOf[0],data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
var _valid0 = _errs9 === errors;
valid2 = valid2 || _valid0;
const _errs10 = errors;
if(typeof data2 === "string"){
if(!pattern15.test(data2)){
const err9 = {instancePath:instancePath+"/protocol",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath:instancePath+"/protocol",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data2};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
var _valid0 = _errs10 === errors;
valid2 = valid2 || _valid0;
if(!valid2){
const err11 = {instancePath:instancePath+"/protocol",schemaPath:"#/properties/protocol/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema108.properties.protocol.anyOf,parentSchema:schema108.properties.protocol,data:data2};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
else {
errors = _errs8;
if(vErrors !== null){
if(_errs8){
vErrors.length = _errs8;
}
else {
vErrors = null;
}
}
}
}
if(data.resource !== undefined){
let data3 = data.resource;
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
for(const key1 in data3){
if(!(((((key1 === "name") || (key1 === "scopes_supported")) || (key1 === "documentation")) || (key1 === "policy_uri")) || (key1 === "tos_uri"))){
const err12 = {instancePath:instancePath+"/resource",schemaPath:"#/properties/resource/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key1},message:"must NOT have additional properties",schema:false,parentSchema:schema108.properties.resource,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data3.name !== undefined){
let data4 = data3.name;
if(typeof data4 === "string"){
if(func2(data4) < 1){
const err13 = {instancePath:instancePath+"/resource/name",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data4};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
else {
const err14 = {instancePath:instancePath+"/resource/name",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data4};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data3.scopes_supported !== undefined){
if(!(validate29(data3.scopes_supported, {instancePath:instancePath+"/resource/scopes_supported",parentData:data3,parentDataProperty:"scopes_supported",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate29.errors : vErrors.concat(validate29.errors);
errors = vErrors.length;
}
}
if(data3.documentation !== undefined){
let data6 = data3.documentation;
if(typeof data6 === "string"){
if(!pattern69.test(data6)){
const err15 = {instancePath:instancePath+"/resource/documentation",schemaPath:"#/$defs/link/pattern",keyword:"pattern",params:{pattern: "^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema112,data:data6};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
else {
const err16 = {instancePath:instancePath+"/resource/documentation",schemaPath:"#/$defs/link/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema112.type,parentSchema:schema112,data:data6};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
if(data3.policy_uri !== undefined){
let data7 = data3.policy_uri;
if(typeof data7 === "string"){
if(!pattern69.test(data7)){
const err17 = {instancePath:instancePath+"/resource/policy_uri",schemaPath:"#/$defs/link/pattern",keyword:"pattern",params:{pattern: "^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema112,data:data7};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
else {
const err18 = {instancePath:instancePath+"/resource/policy_uri",schemaPath:"#/$defs/link/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema112.type,parentSchema:schema112,data:data7};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
if(data3.tos_uri !== undefined){
let data8 = data3.tos_uri;
if(typeof data8 === "string"){
if(!pattern69.test(data8)){
const err19 = {instancePath:instancePath+"/resource/tos_uri",schemaPath:"#/$defs/link/pattern",keyword:"pattern",params:{pattern: "^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://\\S+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema112,data:data8};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
else {
const err20 = {instancePath:instancePath+"/resource/tos_uri",schemaPath:"#/$defs/link/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema112.type,parentSchema:schema112,data:data8};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
}
else {
const err21 = {instancePath:instancePath+"/resource",schemaPath:"#/properties/resource/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema108.properties.resource.type,parentSchema:schema108.properties.resource,data:data3};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
if(data.authorization_servers !== undefined){
let data9 = data.authorization_servers;
if(Array.isArray(data9)){
if(data9.length < 1){
const err22 = {instancePath:instancePath+"/authorization_servers",schemaPath:"#/properties/authorization_servers/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema108.properties.authorization_servers,data:data9};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
const len0 = data9.length;
for(let i0=0; i0<len0; i0++){
let data10 = data9[i0];
if(typeof data10 === "string"){
if(!pattern66.test(data10)){
const err23 = {instancePath:instancePath+"/authorization_servers/" + i0,schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema109,data:data10};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
else {
const err24 = {instancePath:instancePath+"/authorization_servers/" + i0,schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema109.type,parentSchema:schema109,data:data10};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
let i1 = data9.length;
let j0;
if(i1 > 1){
outer0:
for(;i1--;){
for(j0 = i1; j0--;){
if(func0(data9[i1], data9[j0])){
const err25 = {instancePath:instancePath+"/authorization_servers",schemaPath:"#/properties/authorization_servers/uniqueItems",keyword:"uniqueItems",params:{i: i1, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i1+" are identical)",schema:true,parentSchema:schema108.properties.authorization_servers,data:data9};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
break outer0;
}
}
}
}
}
else {
const err26 = {instancePath:instancePath+"/authorization_servers",schemaPath:"#/properties/authorization_servers/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema108.properties.authorization_servers.type,parentSchema:schema108.properties.authorization_servers,data:data9};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
if(data.audience !== undefined){
let data11 = data.audience;
const _errs35 = errors;
let valid13 = false;
const _errs36 = errors;
if(typeof data11 === "string"){
if(func2(data11) < 1){
const err27 = {instancePath:instancePath+"/audience",schemaPath:"#/properties/audience/anyOf/0/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema108.properties.audience.anyOf[0],data:data11};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
else {
const err28 = {instancePath:instancePath+"/audience",schemaPath:"#/properties/audience/anyOf/0/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema108.properties.audience.anyOf[0].type,parentSchema:schema108.properties.audience.anyOf[0],data:data11};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
var _valid1 = _errs36 === errors;
valid13 = valid13 || _valid1;
const _errs38 = errors;
if(Array.isArray(data11)){
if(data11.length < 1){
const err29 = {instancePath:instancePath+"/audience",schemaPath:"#/properties/audience/anyOf/1/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema108.properties.audience.anyOf[1],data:data11};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
const len1 = data11.length;
for(let i2=0; i2<len1; i2++){
let data12 = data11[i2];
if(typeof data12 === "string"){
if(func2(data12) < 1){
const err30 = {instancePath:instancePath+"/audience/" + i2,schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data12};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
}
}
else {
const err31 = {instancePath:instancePath+"/audience/" + i2,schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data12};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
}
let i3 = data11.length;
let j1;
if(i3 > 1){
outer1:
for(;i3--;){
for(j1 = i3; j1--;){
if(func0(data11[i3], data11[j1])){
const err32 = {instancePath:instancePath+"/audience",schemaPath:"#/properties/audience/anyOf/1/uniqueItems",keyword:"uniqueItems",params:{i: i3, j: j1},message:"must NOT have duplicate items (items ## "+j1+" and "+i3+" are identical)",schema:true,parentSchema:schema108.properties.audience.anyOf[1],data:data11};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
break outer1;
}
}
}
}
}
else {
const err33 = {instancePath:instancePath+"/audience",schemaPath:"#/properties/audience/anyOf/1/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema108.properties.audience.anyOf[1].type,parentSchema:schema108.properties.audience.anyOf[1],data:data11};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
var _valid1 = _errs38 === errors;
valid13 = valid13 || _valid1;
if(!valid13){
const err34 = {instancePath:instancePath+"/audience",schemaPath:"#/properties/audience/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema108.properties.audience.anyOf,parentSchema:schema108.properties.audience,data:data11};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
}
else {
errors = _errs35;
if(vErrors !== null){
if(_errs35){
vErrors.length = _errs35;
}
else {
vErrors = null;
}
}
}
}
if(data.tokens !== undefined){
let data13 = data.tokens;
if(Array.isArray(data13)){
if(data13.length < 1){
const err35 = {instancePath:instancePath+"/tokens",schemaPath:"#/properties/tokens/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema108.properties.tokens,data:data13};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
const len2 = data13.length;
for(let i4=0; i4<len2; i4++){
let data14 = data13[i4];
const _errs46 = errors;
let valid20 = false;
const _errs47 = errors;
if(!((data14 === "jwt") || (data14 === "opaque"))){
const err36 = {instancePath:instancePath+"/tokens/" + i4,schemaPath:"#/properties/tokens/items/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema108.properties.tokens.items.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema108.properties.tokens.items.anyOf[0].enum,parentSchema:schema108.properties.tokens.items.anyOf[0],data:data14};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
var _valid2 = _errs47 === errors;
valid20 = valid20 || _valid2;
const _errs48 = errors;
if(typeof data14 === "string"){
if(!pattern15.test(data14)){
const err37 = {instancePath:instancePath+"/tokens/" + i4,schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data14};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
}
else {
const err38 = {instancePath:instancePath+"/tokens/" + i4,schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data14};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
var _valid2 = _errs48 === errors;
valid20 = valid20 || _valid2;
if(!valid20){
const err39 = {instancePath:instancePath+"/tokens/" + i4,schemaPath:"#/properties/tokens/items/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema108.properties.tokens.items.anyOf,parentSchema:schema108.properties.tokens.items,data:data14};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
else {
errors = _errs46;
if(vErrors !== null){
if(_errs46){
vErrors.length = _errs46;
}
else {
vErrors = null;
}
}
}
}
let i5 = data13.length;
let j2;
if(i5 > 1){
outer2:
for(;i5--;){
for(j2 = i5; j2--;){
if(func0(data13[i5], data13[j2])){
const err40 = {instancePath:instancePath+"/tokens",schemaPath:"#/properties/tokens/uniqueItems",keyword:"uniqueItems",params:{i: i5, j: j2},message:"must NOT have duplicate items (items ## "+j2+" and "+i5+" are identical)",schema:true,parentSchema:schema108.properties.tokens,data:data13};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
break outer2;
}
}
}
}
}
else {
const err41 = {instancePath:instancePath+"/tokens",schemaPath:"#/properties/tokens/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema108.properties.tokens.type,parentSchema:schema108.properties.tokens,data:data13};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
}
if(data.opaque_tokens !== undefined){
let data15 = data.opaque_tokens;
const _errs52 = errors;
let valid23 = false;
const _errs53 = errors;
if(!((data15 === "by_prefix") || (data15 === "shown_to_all"))){
const err42 = {instancePath:instancePath+"/opaque_tokens",schemaPath:"#/properties/opaque_tokens/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema108.properties.opaque_tokens.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema108.properties.opaque_tokens.anyOf[0].enum,parentSchema:schema108.properties.opaque_tokens.anyOf[0],data:data15};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
}
var _valid3 = _errs53 === errors;
valid23 = valid23 || _valid3;
const _errs54 = errors;
if(typeof data15 === "string"){
if(!pattern15.test(data15)){
const err43 = {instancePath:instancePath+"/opaque_tokens",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data15};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
}
else {
const err44 = {instancePath:instancePath+"/opaque_tokens",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data15};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
var _valid3 = _errs54 === errors;
valid23 = valid23 || _valid3;
if(!valid23){
const err45 = {instancePath:instancePath+"/opaque_tokens",schemaPath:"#/properties/opaque_tokens/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema108.properties.opaque_tokens.anyOf,parentSchema:schema108.properties.opaque_tokens,data:data15};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
else {
errors = _errs52;
if(vErrors !== null){
if(_errs52){
vErrors.length = _errs52;
}
else {
vErrors = null;
}
}
}
}
if(data.policy !== undefined){
let data16 = data.policy;
if(typeof data16 === "string"){
if(!pattern66.test(data16)){
const err46 = {instancePath:instancePath+"/policy",schemaPath:"#/$defs/name/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema109,data:data16};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
}
else {
const err47 = {instancePath:instancePath+"/policy",schemaPath:"#/$defs/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema109.type,parentSchema:schema109,data:data16};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
}
if(data.methods !== undefined){
let data17 = data.methods;
if(Array.isArray(data17)){
if(data17.length < 1){
const err48 = {instancePath:instancePath+"/methods",schemaPath:"#/properties/methods/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema108.properties.methods,data:data17};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
}
const len3 = data17.length;
for(let i6=0; i6<len3; i6++){
let data18 = data17[i6];
if(typeof data18 === "string"){
if(!pattern76.test(data18)){
const err49 = {instancePath:instancePath+"/methods/" + i6,schemaPath:"#/properties/methods/items/pattern",keyword:"pattern",params:{pattern: "^[A-Z][A-Z-]*$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[A-Z][A-Z-]*$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[A-Z][A-Z-]*$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema108.properties.methods.items,data:data18};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
}
else {
const err50 = {instancePath:instancePath+"/methods/" + i6,schemaPath:"#/properties/methods/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema108.properties.methods.items.type,parentSchema:schema108.properties.methods.items,data:data18};
if(vErrors === null){
vErrors = [err50];
}
else {
vErrors.push(err50);
}
errors++;
}
}
let i7 = data17.length;
let j3;
if(i7 > 1){
const indices0 = {};
for(;i7--;){
let item0 = data17[i7];
if(typeof item0 !== "string"){
continue;
}
if(typeof indices0[item0] == "number"){
j3 = indices0[item0];
const err51 = {instancePath:instancePath+"/methods",schemaPath:"#/properties/methods/uniqueItems",keyword:"uniqueItems",params:{i: i7, j: j3},message:"must NOT have duplicate items (items ## "+j3+" and "+i7+" are identical)",schema:true,parentSchema:schema108.properties.methods,data:data17};
if(vErrors === null){
vErrors = [err51];
}
else {
vErrors.push(err51);
}
errors++;
break;
}
indices0[item0] = i7;
}
}
}
else {
const err52 = {instancePath:instancePath+"/methods",schemaPath:"#/properties/methods/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema108.properties.methods.type,parentSchema:schema108.properties.methods,data:data17};
if(vErrors === null){
vErrors = [err52];
}
else {
vErrors.push(err52);
}
errors++;
}
}
if(data.public !== undefined){
let data19 = data.public;
if(typeof data19 !== "boolean"){
const err53 = {instancePath:instancePath+"/public",schemaPath:"#/properties/public/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema108.properties.public.type,parentSchema:schema108.properties.public,data:data19};
if(vErrors === null){
vErrors = [err53];
}
else {
vErrors.push(err53);
}
errors++;
}
}
if(data.upgrade !== undefined){
let data20 = data.upgrade;
const _errs67 = errors;
let valid29 = false;
const _errs68 = errors;
if(!(data20 === "websocket")){
const err54 = {instancePath:instancePath+"/upgrade",schemaPath:"#/properties/upgrade/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema108.properties.upgrade.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema108.properties.upgrade.anyOf[0].enum,parentSchema:schema108.properties.upgrade.anyOf[0],data:data20};
if(vErrors === null){
vErrors = [err54];
}
else {
vErrors.push(err54);
}
errors++;
}
var _valid4 = _errs68 === errors;
valid29 = valid29 || _valid4;
const _errs69 = errors;
if(typeof data20 === "string"){
if(!pattern15.test(data20)){
const err55 = {instancePath:instancePath+"/upgrade",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data20};
if(vErrors === null){
vErrors = [err55];
}
else {
vErrors.push(err55);
}
errors++;
}
}
else {
const err56 = {instancePath:instancePath+"/upgrade",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data20};
if(vErrors === null){
vErrors = [err56];
}
else {
vErrors.push(err56);
}
errors++;
}
var _valid4 = _errs69 === errors;
valid29 = valid29 || _valid4;
if(!valid29){
const err57 = {instancePath:instancePath+"/upgrade",schemaPath:"#/properties/upgrade/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema108.properties.upgrade.anyOf,parentSchema:schema108.properties.upgrade,data:data20};
if(vErrors === null){
vErrors = [err57];
}
else {
vErrors.push(err57);
}
errors++;
}
else {
errors = _errs67;
if(vErrors !== null){
if(_errs67){
vErrors.length = _errs67;
}
else {
vErrors = null;
}
}
}
}
if(data.below !== undefined){
let data21 = data.below;
const _errs73 = errors;
let valid31 = false;
const _errs74 = errors;
if(!((data21 === "refuse") || (data21 === "pass"))){
const err58 = {instancePath:instancePath+"/below",schemaPath:"#/properties/below/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema108.properties.below.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema108.properties.below.anyOf[0].enum,parentSchema:schema108.properties.below.anyOf[0],data:data21};
if(vErrors === null){
vErrors = [err58];
}
else {
vErrors.push(err58);
}
errors++;
}
var _valid5 = _errs74 === errors;
valid31 = valid31 || _valid5;
const _errs75 = errors;
if(typeof data21 === "string"){
if(!pattern15.test(data21)){
const err59 = {instancePath:instancePath+"/below",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data21};
if(vErrors === null){
vErrors = [err59];
}
else {
vErrors.push(err59);
}
errors++;
}
}
else {
const err60 = {instancePath:instancePath+"/below",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data21};
if(vErrors === null){
vErrors = [err60];
}
else {
vErrors.push(err60);
}
errors++;
}
var _valid5 = _errs75 === errors;
valid31 = valid31 || _valid5;
if(!valid31){
const err61 = {instancePath:instancePath+"/below",schemaPath:"#/properties/below/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema108.properties.below.anyOf,parentSchema:schema108.properties.below,data:data21};
if(vErrors === null){
vErrors = [err61];
}
else {
vErrors.push(err61);
}
errors++;
}
else {
errors = _errs73;
if(vErrors !== null){
if(_errs73){
vErrors.length = _errs73;
}
else {
vErrors = null;
}
}
}
}
if(data.query !== undefined){
let data22 = data.query;
const _errs79 = errors;
let valid33 = false;
const _errs80 = errors;
if(!((data22 === "refuse") || (data22 === "pass"))){
const err62 = {instancePath:instancePath+"/query",schemaPath:"#/properties/query/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema108.properties.query.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema108.properties.query.anyOf[0].enum,parentSchema:schema108.properties.query.anyOf[0],data:data22};
if(vErrors === null){
vErrors = [err62];
}
else {
vErrors.push(err62);
}
errors++;
}
var _valid6 = _errs80 === errors;
valid33 = valid33 || _valid6;
const _errs81 = errors;
if(typeof data22 === "string"){
if(!pattern15.test(data22)){
const err63 = {instancePath:instancePath+"/query",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data22};
if(vErrors === null){
vErrors = [err63];
}
else {
vErrors.push(err63);
}
errors++;
}
}
else {
const err64 = {instancePath:instancePath+"/query",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data22};
if(vErrors === null){
vErrors = [err64];
}
else {
vErrors.push(err64);
}
errors++;
}
var _valid6 = _errs81 === errors;
valid33 = valid33 || _valid6;
if(!valid33){
const err65 = {instancePath:instancePath+"/query",schemaPath:"#/properties/query/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema108.properties.query.anyOf,parentSchema:schema108.properties.query,data:data22};
if(vErrors === null){
vErrors = [err65];
}
else {
vErrors.push(err65);
}
errors++;
}
else {
errors = _errs79;
if(vErrors !== null){
if(_errs79){
vErrors.length = _errs79;
}
else {
vErrors = null;
}
}
}
}
if(data.first_challenge !== undefined){
let data23 = data.first_challenge;
const _errs85 = errors;
let valid35 = false;
const _errs86 = errors;
if(!(((data23 === "policy") || (data23 === "supported")) || (data23 === "none"))){
const err66 = {instancePath:instancePath+"/first_challenge",schemaPath:"#/properties/first_challenge/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema108.properties.first_challenge.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema108.properties.first_challenge.anyOf[0].enum,parentSchema:schema108.properties.first_challenge.anyOf[0],data:data23};
if(vErrors === null){
vErrors = [err66];
}
else {
vErrors.push(err66);
}
errors++;
}
var _valid7 = _errs86 === errors;
valid35 = valid35 || _valid7;
const _errs87 = errors;
if(typeof data23 === "string"){
if(!pattern15.test(data23)){
const err67 = {instancePath:instancePath+"/first_challenge",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data23};
if(vErrors === null){
vErrors = [err67];
}
else {
vErrors.push(err67);
}
errors++;
}
}
else {
const err68 = {instancePath:instancePath+"/first_challenge",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data23};
if(vErrors === null){
vErrors = [err68];
}
else {
vErrors.push(err68);
}
errors++;
}
var _valid7 = _errs87 === errors;
valid35 = valid35 || _valid7;
if(!valid35){
const err69 = {instancePath:instancePath+"/first_challenge",schemaPath:"#/properties/first_challenge/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema108.properties.first_challenge.anyOf,parentSchema:schema108.properties.first_challenge,data:data23};
if(vErrors === null){
vErrors = [err69];
}
else {
vErrors.push(err69);
}
errors++;
}
else {
errors = _errs85;
if(vErrors !== null){
if(_errs85){
vErrors.length = _errs85;
}
else {
vErrors = null;
}
}
}
}
if(data.refusals !== undefined){
let data24 = data.refusals;
if(data24 && typeof data24 == "object" && !Array.isArray(data24)){
for(const key2 in data24){
if(!(key2 === "final")){
const err70 = {instancePath:instancePath+"/refusals",schemaPath:"#/properties/refusals/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key2},message:"must NOT have additional properties",schema:false,parentSchema:schema108.properties.refusals,data:data24};
if(vErrors === null){
vErrors = [err70];
}
else {
vErrors.push(err70);
}
errors++;
}
}
if(data24.final !== undefined){
let data25 = data24.final;
const _errs94 = errors;
let valid38 = false;
const _errs95 = errors;
if(!((data25 === "http") || (data25 === "tool_error"))){
const err71 = {instancePath:instancePath+"/refusals/final",schemaPath:"#/properties/refusals/properties/final/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema108.properties.refusals.properties.final.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema108.properties.refusals.properties.final.anyOf[0].enum,parentSchema:schema108.properties.refusals.properties.final.anyOf[0],data:data25};
if(vErrors === null){
vErrors = [err71];
}
else {
vErrors.push(err71);
}
errors++;
}
var _valid8 = _errs95 === errors;
valid38 = valid38 || _valid8;
const _errs96 = errors;
if(typeof data25 === "string"){
if(!pattern15.test(data25)){
const err72 = {instancePath:instancePath+"/refusals/final",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data25};
if(vErrors === null){
vErrors = [err72];
}
else {
vErrors.push(err72);
}
errors++;
}
}
else {
const err73 = {instancePath:instancePath+"/refusals/final",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data25};
if(vErrors === null){
vErrors = [err73];
}
else {
vErrors.push(err73);
}
errors++;
}
var _valid8 = _errs96 === errors;
valid38 = valid38 || _valid8;
if(!valid38){
const err74 = {instancePath:instancePath+"/refusals/final",schemaPath:"#/properties/refusals/properties/final/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema108.properties.refusals.properties.final.anyOf,parentSchema:schema108.properties.refusals.properties.final,data:data25};
if(vErrors === null){
vErrors = [err74];
}
else {
vErrors.push(err74);
}
errors++;
}
else {
errors = _errs94;
if(vErrors !== null){
if(_errs94){
vErrors.length = _errs94;
}
else {
vErrors = null;
}
}
}
}
}
else {
const err75 = {instancePath:instancePath+"/refusals",schemaPath:"#/properties/refusals/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema108.properties.refusals.type,parentSchema:schema108.properties.refusals,data:data24};
if(vErrors === null){
vErrors = [err75];
}
else {
vErrors.push(err75);
}
errors++;
}
}
if(data.keepalive !== undefined){
let data26 = data.keepalive;
if(typeof data26 === "string"){
if(!pattern19.test(data26)){
const err76 = {instancePath:instancePath+"/keepalive",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data26};
if(vErrors === null){
vErrors = [err76];
}
else {
vErrors.push(err76);
}
errors++;
}
}
else {
const err77 = {instancePath:instancePath+"/keepalive",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data26};
if(vErrors === null){
vErrors = [err77];
}
else {
vErrors.push(err77);
}
errors++;
}
}
if(data.rate !== undefined){
if(!(validate38(data.rate, {instancePath:instancePath+"/rate",parentData:data,parentDataProperty:"rate",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate38.errors : vErrors.concat(validate38.errors);
errors = vErrors.length;
}
}
if(data.dpop !== undefined){
let data28 = data.dpop;
if(data28 && typeof data28 == "object" && !Array.isArray(data28)){
for(const key3 in data28){
if(!((((key3 === "required") || (key3 === "nonce")) || (key3 === "algorithms")) || (key3 === "proof_lifetime"))){
const err78 = {instancePath:instancePath+"/dpop",schemaPath:"#/properties/dpop/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3},message:"must NOT have additional properties",schema:false,parentSchema:schema108.properties.dpop,data:data28};
if(vErrors === null){
vErrors = [err78];
}
else {
vErrors.push(err78);
}
errors++;
}
}
if(data28.required !== undefined){
let data29 = data28.required;
if(typeof data29 !== "boolean"){
const err79 = {instancePath:instancePath+"/dpop/required",schemaPath:"#/properties/dpop/properties/required/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema108.properties.dpop.properties.required.type,parentSchema:schema108.properties.dpop.properties.required,data:data29};
if(vErrors === null){
vErrors = [err79];
}
else {
vErrors.push(err79);
}
errors++;
}
}
if(data28.nonce !== undefined){
let data30 = data28.nonce;
if(typeof data30 !== "boolean"){
const err80 = {instancePath:instancePath+"/dpop/nonce",schemaPath:"#/properties/dpop/properties/nonce/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema108.properties.dpop.properties.nonce.type,parentSchema:schema108.properties.dpop.properties.nonce,data:data30};
if(vErrors === null){
vErrors = [err80];
}
else {
vErrors.push(err80);
}
errors++;
}
}
if(data28.algorithms !== undefined){
if(!(validate22(data28.algorithms, {instancePath:instancePath+"/dpop/algorithms",parentData:data28,parentDataProperty:"algorithms",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate22.errors : vErrors.concat(validate22.errors);
errors = vErrors.length;
}
}
if(data28.proof_lifetime !== undefined){
let data32 = data28.proof_lifetime;
if(typeof data32 === "string"){
if(!pattern19.test(data32)){
const err81 = {instancePath:instancePath+"/dpop/proof_lifetime",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data32};
if(vErrors === null){
vErrors = [err81];
}
else {
vErrors.push(err81);
}
errors++;
}
}
else {
const err82 = {instancePath:instancePath+"/dpop/proof_lifetime",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data32};
if(vErrors === null){
vErrors = [err82];
}
else {
vErrors.push(err82);
}
errors++;
}
}
}
else {
const err83 = {instancePath:instancePath+"/dpop",schemaPath:"#/properties/dpop/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema108.properties.dpop.type,parentSchema:schema108.properties.dpop,data:data28};
if(vErrors === null){
vErrors = [err83];
}
else {
vErrors.push(err83);
}
errors++;
}
}
if(data.revalidate !== undefined){
let data33 = data.revalidate;
if(typeof data33 === "string"){
if(!pattern19.test(data33)){
const err84 = {instancePath:instancePath+"/revalidate",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data33};
if(vErrors === null){
vErrors = [err84];
}
else {
vErrors.push(err84);
}
errors++;
}
}
else {
const err85 = {instancePath:instancePath+"/revalidate",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data33};
if(vErrors === null){
vErrors = [err85];
}
else {
vErrors.push(err85);
}
errors++;
}
}
if(data.upstream !== undefined){
if(!(validate48(data.upstream, {instancePath:instancePath+"/upstream",parentData:data,parentDataProperty:"upstream",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate48.errors : vErrors.concat(validate48.errors);
errors = vErrors.length;
}
}
}
else {
const err86 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema108.type,parentSchema:schema108,data};
if(vErrors === null){
vErrors = [err86];
}
else {
vErrors.push(err86);
}
errors++;
}
validate44.errors = vErrors;
return errors === 0;
}
validate44.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate20(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate20.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.public_url === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "public_url"},message:"must have required property '"+"public_url"+"'",schema:schema31.required,parentSchema:schema31,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.routes === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "routes"},message:"must have required property '"+"routes"+"'",schema:schema31.required,parentSchema:schema31,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!(func1.call(schema31.properties, key0))){
const err2 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema31,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.public_url !== undefined){
let data0 = data.public_url;
if(typeof data0 === "string"){
if(!pattern4.test(data0)){
const err3 = {instancePath:instancePath+"/public_url",schemaPath:"#/$defs/origin/pattern",keyword:"pattern",params:{pattern: "^https?://[^/?#@\\s]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^/?#@\\s]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^/?#@\\s]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema32,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/public_url",schemaPath:"#/$defs/origin/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema32.type,parentSchema:schema32,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.listen !== undefined){
let data1 = data.listen;
if(typeof data1 === "string"){
if(!pattern5.test(data1)){
const err5 = {instancePath:instancePath+"/listen",schemaPath:"#/$defs/address/pattern",keyword:"pattern",params:{pattern: "^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema33,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/listen",schemaPath:"#/$defs/address/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema33.type,parentSchema:schema33,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.admin !== undefined){
let data2 = data.admin;
if((!(data2 && typeof data2 == "object" && !Array.isArray(data2))) && (typeof data2 !== "string")){
const err7 = {instancePath:instancePath+"/admin",schemaPath:"#/properties/admin/type",keyword:"type",params:{type: schema31.properties.admin.type},message:"must be object,string",schema:schema31.properties.admin.type,parentSchema:schema31.properties.admin,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
if(typeof data2 === "string"){
if(!pattern6.test(data2)){
const err8 = {instancePath:instancePath+"/admin",schemaPath:"#/properties/admin/pattern",keyword:"pattern",params:{pattern: "^off$|^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^off$|^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^off$|^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema31.properties.admin,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
if(data2.listen === undefined){
const err9 = {instancePath:instancePath+"/admin",schemaPath:"#/properties/admin/required",keyword:"required",params:{missingProperty: "listen"},message:"must have required property '"+"listen"+"'",schema:schema31.properties.admin.required,parentSchema:schema31.properties.admin,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
for(const key1 in data2){
if(!(((key1 === "listen") || (key1 === "hosts")) || (key1 === "token"))){
const err10 = {instancePath:instancePath+"/admin",schemaPath:"#/properties/admin/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key1},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.admin,data:data2};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data2.listen !== undefined){
let data3 = data2.listen;
if(typeof data3 === "string"){
if(!pattern6.test(data3)){
const err11 = {instancePath:instancePath+"/admin/listen",schemaPath:"#/properties/admin/properties/listen/pattern",keyword:"pattern",params:{pattern: "^off$|^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^off$|^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^off$|^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema31.properties.admin.properties.listen,data:data3};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
else {
const err12 = {instancePath:instancePath+"/admin/listen",schemaPath:"#/properties/admin/properties/listen/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.admin.properties.listen.type,parentSchema:schema31.properties.admin.properties.listen,data:data3};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data2.hosts !== undefined){
let data4 = data2.hosts;
if(Array.isArray(data4)){
const len0 = data4.length;
for(let i0=0; i0<len0; i0++){
let data5 = data4[i0];
if(typeof data5 === "string"){
if(func2(data5) < 1){
const err13 = {instancePath:instancePath+"/admin/hosts/" + i0,schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data5};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
else {
const err14 = {instancePath:instancePath+"/admin/hosts/" + i0,schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data5};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
let i1 = data4.length;
let j0;
if(i1 > 1){
outer0:
for(;i1--;){
for(j0 = i1; j0--;){
if(func0(data4[i1], data4[j0])){
const err15 = {instancePath:instancePath+"/admin/hosts",schemaPath:"#/properties/admin/properties/hosts/uniqueItems",keyword:"uniqueItems",params:{i: i1, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i1+" are identical)",schema:true,parentSchema:schema31.properties.admin.properties.hosts,data:data4};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
break outer0;
}
}
}
}
}
else {
const err16 = {instancePath:instancePath+"/admin/hosts",schemaPath:"#/properties/admin/properties/hosts/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema31.properties.admin.properties.hosts.type,parentSchema:schema31.properties.admin.properties.hosts,data:data4};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
if(data2.token !== undefined){
let data6 = data2.token;
if(typeof data6 !== "string"){
const err17 = {instancePath:instancePath+"/admin/token",schemaPath:"#/properties/admin/properties/token/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.admin.properties.token.type,parentSchema:schema31.properties.admin.properties.token,data:data6};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
}
}
if(data.tls !== undefined){
let data7 = data.tls;
if(data7 && typeof data7 == "object" && !Array.isArray(data7)){
if(data7.cert === undefined){
const err18 = {instancePath:instancePath+"/tls",schemaPath:"#/properties/tls/required",keyword:"required",params:{missingProperty: "cert"},message:"must have required property '"+"cert"+"'",schema:schema31.properties.tls.required,parentSchema:schema31.properties.tls,data:data7};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
if(data7.key === undefined){
const err19 = {instancePath:instancePath+"/tls",schemaPath:"#/properties/tls/required",keyword:"required",params:{missingProperty: "key"},message:"must have required property '"+"key"+"'",schema:schema31.properties.tls.required,parentSchema:schema31.properties.tls,data:data7};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
for(const key2 in data7){
if(!(((key2 === "cert") || (key2 === "key")) || (key2 === "client_ca"))){
const err20 = {instancePath:instancePath+"/tls",schemaPath:"#/properties/tls/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key2},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.tls,data:data7};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
if(data7.cert !== undefined){
let data8 = data7.cert;
if(typeof data8 === "string"){
if(func2(data8) < 1){
const err21 = {instancePath:instancePath+"/tls/cert",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data8};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
else {
const err22 = {instancePath:instancePath+"/tls/cert",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data8};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
if(data7.key !== undefined){
let data9 = data7.key;
if(typeof data9 === "string"){
if(func2(data9) < 1){
const err23 = {instancePath:instancePath+"/tls/key",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data9};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
else {
const err24 = {instancePath:instancePath+"/tls/key",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data9};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
if(data7.client_ca !== undefined){
let data10 = data7.client_ca;
if(typeof data10 === "string"){
if(func2(data10) < 1){
const err25 = {instancePath:instancePath+"/tls/client_ca",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data10};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
else {
const err26 = {instancePath:instancePath+"/tls/client_ca",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data10};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
}
}
else {
const err27 = {instancePath:instancePath+"/tls",schemaPath:"#/properties/tls/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.tls.type,parentSchema:schema31.properties.tls,data:data7};
if(vErrors === null){
vErrors = [err27];
}
else {
vErrors.push(err27);
}
errors++;
}
}
if(data.trusted_proxies !== undefined){
let data11 = data.trusted_proxies;
if(Array.isArray(data11)){
const len1 = data11.length;
for(let i2=0; i2<len1; i2++){
let data12 = data11[i2];
if(typeof data12 === "string"){
if(!pattern8.test(data12)){
const err28 = {instancePath:instancePath+"/trusted_proxies/" + i2,schemaPath:"#/properties/trusted_proxies/items/pattern",keyword:"pattern",params:{pattern: "^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema31.properties.trusted_proxies.items,data:data12};
if(vErrors === null){
vErrors = [err28];
}
else {
vErrors.push(err28);
}
errors++;
}
}
else {
const err29 = {instancePath:instancePath+"/trusted_proxies/" + i2,schemaPath:"#/properties/trusted_proxies/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.trusted_proxies.items.type,parentSchema:schema31.properties.trusted_proxies.items,data:data12};
if(vErrors === null){
vErrors = [err29];
}
else {
vErrors.push(err29);
}
errors++;
}
}
let i3 = data11.length;
let j1;
if(i3 > 1){
const indices0 = {};
for(;i3--;){
let item0 = data11[i3];
if(typeof item0 !== "string"){
continue;
}
if(typeof indices0[item0] == "number"){
j1 = indices0[item0];
const err30 = {instancePath:instancePath+"/trusted_proxies",schemaPath:"#/properties/trusted_proxies/uniqueItems",keyword:"uniqueItems",params:{i: i3, j: j1},message:"must NOT have duplicate items (items ## "+j1+" and "+i3+" are identical)",schema:true,parentSchema:schema31.properties.trusted_proxies,data:data11};
if(vErrors === null){
vErrors = [err30];
}
else {
vErrors.push(err30);
}
errors++;
break;
}
indices0[item0] = i3;
}
}
}
else {
const err31 = {instancePath:instancePath+"/trusted_proxies",schemaPath:"#/properties/trusted_proxies/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema31.properties.trusted_proxies.type,parentSchema:schema31.properties.trusted_proxies,data:data11};
if(vErrors === null){
vErrors = [err31];
}
else {
vErrors.push(err31);
}
errors++;
}
}
if(data.certificate_proxies !== undefined){
let data13 = data.certificate_proxies;
if(Array.isArray(data13)){
const len2 = data13.length;
for(let i4=0; i4<len2; i4++){
let data14 = data13[i4];
if(typeof data14 === "string"){
if(!pattern8.test(data14)){
const err32 = {instancePath:instancePath+"/certificate_proxies/" + i4,schemaPath:"#/properties/certificate_proxies/items/pattern",keyword:"pattern",params:{pattern: "^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema31.properties.certificate_proxies.items,data:data14};
if(vErrors === null){
vErrors = [err32];
}
else {
vErrors.push(err32);
}
errors++;
}
}
else {
const err33 = {instancePath:instancePath+"/certificate_proxies/" + i4,schemaPath:"#/properties/certificate_proxies/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.certificate_proxies.items.type,parentSchema:schema31.properties.certificate_proxies.items,data:data14};
if(vErrors === null){
vErrors = [err33];
}
else {
vErrors.push(err33);
}
errors++;
}
}
let i5 = data13.length;
let j2;
if(i5 > 1){
const indices1 = {};
for(;i5--;){
let item1 = data13[i5];
if(typeof item1 !== "string"){
continue;
}
if(typeof indices1[item1] == "number"){
j2 = indices1[item1];
const err34 = {instancePath:instancePath+"/certificate_proxies",schemaPath:"#/properties/certificate_proxies/uniqueItems",keyword:"uniqueItems",params:{i: i5, j: j2},message:"must NOT have duplicate items (items ## "+j2+" and "+i5+" are identical)",schema:true,parentSchema:schema31.properties.certificate_proxies,data:data13};
if(vErrors === null){
vErrors = [err34];
}
else {
vErrors.push(err34);
}
errors++;
break;
}
indices1[item1] = i5;
}
}
}
else {
const err35 = {instancePath:instancePath+"/certificate_proxies",schemaPath:"#/properties/certificate_proxies/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema31.properties.certificate_proxies.type,parentSchema:schema31.properties.certificate_proxies,data:data13};
if(vErrors === null){
vErrors = [err35];
}
else {
vErrors.push(err35);
}
errors++;
}
}
if(data.forward_auth !== undefined){
let data15 = data.forward_auth;
if(data15 && typeof data15 == "object" && !Array.isArray(data15)){
if(data15.listen === undefined){
const err36 = {instancePath:instancePath+"/forward_auth",schemaPath:"#/properties/forward_auth/required",keyword:"required",params:{missingProperty: "listen"},message:"must have required property '"+"listen"+"'",schema:schema31.properties.forward_auth.required,parentSchema:schema31.properties.forward_auth,data:data15};
if(vErrors === null){
vErrors = [err36];
}
else {
vErrors.push(err36);
}
errors++;
}
for(const key3 in data15){
if(!((key3 === "listen") || (key3 === "trusted"))){
const err37 = {instancePath:instancePath+"/forward_auth",schemaPath:"#/properties/forward_auth/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key3},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.forward_auth,data:data15};
if(vErrors === null){
vErrors = [err37];
}
else {
vErrors.push(err37);
}
errors++;
}
}
if(data15.listen !== undefined){
let data16 = data15.listen;
if(typeof data16 === "string"){
if(!pattern5.test(data16)){
const err38 = {instancePath:instancePath+"/forward_auth/listen",schemaPath:"#/$defs/address/pattern",keyword:"pattern",params:{pattern: "^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema33,data:data16};
if(vErrors === null){
vErrors = [err38];
}
else {
vErrors.push(err38);
}
errors++;
}
}
else {
const err39 = {instancePath:instancePath+"/forward_auth/listen",schemaPath:"#/$defs/address/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema33.type,parentSchema:schema33,data:data16};
if(vErrors === null){
vErrors = [err39];
}
else {
vErrors.push(err39);
}
errors++;
}
}
if(data15.trusted !== undefined){
let data17 = data15.trusted;
if(Array.isArray(data17)){
const len3 = data17.length;
for(let i6=0; i6<len3; i6++){
let data18 = data17[i6];
if(typeof data18 === "string"){
if(!pattern8.test(data18)){
const err40 = {instancePath:instancePath+"/forward_auth/trusted/" + i6,schemaPath:"#/properties/forward_auth/properties/trusted/items/pattern",keyword:"pattern",params:{pattern: "^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema31.properties.forward_auth.properties.trusted.items,data:data18};
if(vErrors === null){
vErrors = [err40];
}
else {
vErrors.push(err40);
}
errors++;
}
}
else {
const err41 = {instancePath:instancePath+"/forward_auth/trusted/" + i6,schemaPath:"#/properties/forward_auth/properties/trusted/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.forward_auth.properties.trusted.items.type,parentSchema:schema31.properties.forward_auth.properties.trusted.items,data:data18};
if(vErrors === null){
vErrors = [err41];
}
else {
vErrors.push(err41);
}
errors++;
}
}
let i7 = data17.length;
let j3;
if(i7 > 1){
const indices2 = {};
for(;i7--;){
let item2 = data17[i7];
if(typeof item2 !== "string"){
continue;
}
if(typeof indices2[item2] == "number"){
j3 = indices2[item2];
const err42 = {instancePath:instancePath+"/forward_auth/trusted",schemaPath:"#/properties/forward_auth/properties/trusted/uniqueItems",keyword:"uniqueItems",params:{i: i7, j: j3},message:"must NOT have duplicate items (items ## "+j3+" and "+i7+" are identical)",schema:true,parentSchema:schema31.properties.forward_auth.properties.trusted,data:data17};
if(vErrors === null){
vErrors = [err42];
}
else {
vErrors.push(err42);
}
errors++;
break;
}
indices2[item2] = i7;
}
}
}
else {
const err43 = {instancePath:instancePath+"/forward_auth/trusted",schemaPath:"#/properties/forward_auth/properties/trusted/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema31.properties.forward_auth.properties.trusted.type,parentSchema:schema31.properties.forward_auth.properties.trusted,data:data17};
if(vErrors === null){
vErrors = [err43];
}
else {
vErrors.push(err43);
}
errors++;
}
}
}
else {
const err44 = {instancePath:instancePath+"/forward_auth",schemaPath:"#/properties/forward_auth/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.forward_auth.type,parentSchema:schema31.properties.forward_auth,data:data15};
if(vErrors === null){
vErrors = [err44];
}
else {
vErrors.push(err44);
}
errors++;
}
}
if(data.console !== undefined){
let data19 = data.console;
if(data19 && typeof data19 == "object" && !Array.isArray(data19)){
for(const key4 in data19){
if(!(key4 === "grafana")){
const err45 = {instancePath:instancePath+"/console",schemaPath:"#/properties/console/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key4},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.console,data:data19};
if(vErrors === null){
vErrors = [err45];
}
else {
vErrors.push(err45);
}
errors++;
}
}
if(data19.grafana !== undefined){
let data20 = data19.grafana;
if(typeof data20 === "string"){
if(func2(data20) < 1){
const err46 = {instancePath:instancePath+"/console/grafana",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data20};
if(vErrors === null){
vErrors = [err46];
}
else {
vErrors.push(err46);
}
errors++;
}
}
else {
const err47 = {instancePath:instancePath+"/console/grafana",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data20};
if(vErrors === null){
vErrors = [err47];
}
else {
vErrors.push(err47);
}
errors++;
}
}
}
else {
const err48 = {instancePath:instancePath+"/console",schemaPath:"#/properties/console/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.console.type,parentSchema:schema31.properties.console,data:data19};
if(vErrors === null){
vErrors = [err48];
}
else {
vErrors.push(err48);
}
errors++;
}
}
if(data.authorization_servers !== undefined){
let data21 = data.authorization_servers;
if(data21 && typeof data21 == "object" && !Array.isArray(data21)){
for(const key5 in data21){
const _errs58 = errors;
if(typeof key5 === "string"){
if(!pattern12.test(key5)){
const err49 = {instancePath:instancePath+"/authorization_servers",schemaPath:"#/properties/authorization_servers/propertyNames/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},message:"must match pattern \""+"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"+"\"",schema:"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",parentSchema:schema31.properties.authorization_servers.propertyNames,data:key5,propertyName:key5};
if(vErrors === null){
vErrors = [err49];
}
else {
vErrors.push(err49);
}
errors++;
}
}
var valid25 = _errs58 === errors;
if(!valid25){
const err50 = {instancePath:instancePath+"/authorization_servers",schemaPath:"#/properties/authorization_servers/propertyNames",keyword:"propertyNames",params:{propertyName: key5},message:"property name must be valid",schema:schema31.properties.authorization_servers.propertyNames,parentSchema:schema31.properties.authorization_servers,data:data21};
if(vErrors === null){
vErrors = [err50];
}
else {
vErrors.push(err50);
}
errors++;
}
}
for(const key6 in data21){
if(!(validate21(data21[key6], {instancePath:instancePath+"/authorization_servers/" + key6.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data21,parentDataProperty:key6,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate21.errors : vErrors.concat(validate21.errors);
errors = vErrors.length;
}
}
}
else {
const err51 = {instancePath:instancePath+"/authorization_servers",schemaPath:"#/properties/authorization_servers/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.authorization_servers.type,parentSchema:schema31.properties.authorization_servers,data:data21};
if(vErrors === null){
vErrors = [err51];
}
else {
vErrors.push(err51);
}
errors++;
}
}
if(data.front_door !== undefined){
let data23 = data.front_door;
if(data23 && typeof data23 == "object" && !Array.isArray(data23)){
if(data23.issuer === undefined){
const err52 = {instancePath:instancePath+"/front_door",schemaPath:"#/properties/front_door/required",keyword:"required",params:{missingProperty: "issuer"},message:"must have required property '"+"issuer"+"'",schema:schema31.properties.front_door.required,parentSchema:schema31.properties.front_door,data:data23};
if(vErrors === null){
vErrors = [err52];
}
else {
vErrors.push(err52);
}
errors++;
}
if(data23.identity_providers === undefined){
const err53 = {instancePath:instancePath+"/front_door",schemaPath:"#/properties/front_door/required",keyword:"required",params:{missingProperty: "identity_providers"},message:"must have required property '"+"identity_providers"+"'",schema:schema31.properties.front_door.required,parentSchema:schema31.properties.front_door,data:data23};
if(vErrors === null){
vErrors = [err53];
}
else {
vErrors.push(err53);
}
errors++;
}
if(data23.scopes === undefined){
const err54 = {instancePath:instancePath+"/front_door",schemaPath:"#/properties/front_door/required",keyword:"required",params:{missingProperty: "scopes"},message:"must have required property '"+"scopes"+"'",schema:schema31.properties.front_door.required,parentSchema:schema31.properties.front_door,data:data23};
if(vErrors === null){
vErrors = [err54];
}
else {
vErrors.push(err54);
}
errors++;
}
for(const key7 in data23){
if(!(func1.call(schema31.properties.front_door.properties, key7))){
const err55 = {instancePath:instancePath+"/front_door",schemaPath:"#/properties/front_door/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key7},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.front_door,data:data23};
if(vErrors === null){
vErrors = [err55];
}
else {
vErrors.push(err55);
}
errors++;
}
}
if(data23.issuer !== undefined){
let data24 = data23.issuer;
if(typeof data24 === "string"){
if(!pattern13.test(data24)){
const err56 = {instancePath:instancePath+"/front_door/issuer",schemaPath:"#/$defs/plainUrl/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema41,data:data24};
if(vErrors === null){
vErrors = [err56];
}
else {
vErrors.push(err56);
}
errors++;
}
}
else {
const err57 = {instancePath:instancePath+"/front_door/issuer",schemaPath:"#/$defs/plainUrl/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema41.type,parentSchema:schema41,data:data24};
if(vErrors === null){
vErrors = [err57];
}
else {
vErrors.push(err57);
}
errors++;
}
}
if(data23.listen !== undefined){
let data25 = data23.listen;
if(typeof data25 === "string"){
if(!pattern5.test(data25)){
const err58 = {instancePath:instancePath+"/front_door/listen",schemaPath:"#/$defs/address/pattern",keyword:"pattern",params:{pattern: "^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:[A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\]):[0-9]{1,5}$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema33,data:data25};
if(vErrors === null){
vErrors = [err58];
}
else {
vErrors.push(err58);
}
errors++;
}
}
else {
const err59 = {instancePath:instancePath+"/front_door/listen",schemaPath:"#/$defs/address/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema33.type,parentSchema:schema33,data:data25};
if(vErrors === null){
vErrors = [err59];
}
else {
vErrors.push(err59);
}
errors++;
}
}
if(data23.backchannel !== undefined){
let data26 = data23.backchannel;
if(typeof data26 === "string"){
if(!pattern13.test(data26)){
const err60 = {instancePath:instancePath+"/front_door/backchannel",schemaPath:"#/$defs/plainUrl/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema41,data:data26};
if(vErrors === null){
vErrors = [err60];
}
else {
vErrors.push(err60);
}
errors++;
}
}
else {
const err61 = {instancePath:instancePath+"/front_door/backchannel",schemaPath:"#/$defs/plainUrl/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema41.type,parentSchema:schema41,data:data26};
if(vErrors === null){
vErrors = [err61];
}
else {
vErrors.push(err61);
}
errors++;
}
}
if(data23.keys !== undefined){
let data27 = data23.keys;
if(typeof data27 === "string"){
if(func2(data27) < 1){
const err62 = {instancePath:instancePath+"/front_door/keys",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data27};
if(vErrors === null){
vErrors = [err62];
}
else {
vErrors.push(err62);
}
errors++;
}
}
else {
const err63 = {instancePath:instancePath+"/front_door/keys",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data27};
if(vErrors === null){
vErrors = [err63];
}
else {
vErrors.push(err63);
}
errors++;
}
}
if(data23.identity_providers !== undefined){
let data28 = data23.identity_providers;
if(data28 && typeof data28 == "object" && !Array.isArray(data28)){
if(Object.keys(data28).length < 1){
const err64 = {instancePath:instancePath+"/front_door/identity_providers",schemaPath:"#/properties/front_door/properties/identity_providers/minProperties",keyword:"minProperties",params:{limit: 1},message:"must NOT have fewer than 1 properties",schema:1,parentSchema:schema31.properties.front_door.properties.identity_providers,data:data28};
if(vErrors === null){
vErrors = [err64];
}
else {
vErrors.push(err64);
}
errors++;
}
for(const key8 in data28){
const _errs78 = errors;
if(typeof key8 === "string"){
if(!pattern12.test(key8)){
const err65 = {instancePath:instancePath+"/front_door/identity_providers",schemaPath:"#/properties/front_door/properties/identity_providers/propertyNames/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},message:"must match pattern \""+"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"+"\"",schema:"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",parentSchema:schema31.properties.front_door.properties.identity_providers.propertyNames,data:key8,propertyName:key8};
if(vErrors === null){
vErrors = [err65];
}
else {
vErrors.push(err65);
}
errors++;
}
}
var valid32 = _errs78 === errors;
if(!valid32){
const err66 = {instancePath:instancePath+"/front_door/identity_providers",schemaPath:"#/properties/front_door/properties/identity_providers/propertyNames",keyword:"propertyNames",params:{propertyName: key8},message:"property name must be valid",schema:schema31.properties.front_door.properties.identity_providers.propertyNames,parentSchema:schema31.properties.front_door.properties.identity_providers,data:data28};
if(vErrors === null){
vErrors = [err66];
}
else {
vErrors.push(err66);
}
errors++;
}
}
for(const key9 in data28){
if(!(validate28(data28[key9], {instancePath:instancePath+"/front_door/identity_providers/" + key9.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data28,parentDataProperty:key9,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate28.errors : vErrors.concat(validate28.errors);
errors = vErrors.length;
}
}
}
else {
const err67 = {instancePath:instancePath+"/front_door/identity_providers",schemaPath:"#/properties/front_door/properties/identity_providers/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.front_door.properties.identity_providers.type,parentSchema:schema31.properties.front_door.properties.identity_providers,data:data28};
if(vErrors === null){
vErrors = [err67];
}
else {
vErrors.push(err67);
}
errors++;
}
}
if(data23.clients !== undefined){
let data30 = data23.clients;
if(data30 && typeof data30 == "object" && !Array.isArray(data30)){
for(const key10 in data30){
if(!(((((key10 === "refresh") || (key10 === "metadata_documents")) || (key10 === "document_addresses")) || (key10 === "registration")) || (key10 === "registered"))){
const err68 = {instancePath:instancePath+"/front_door/clients",schemaPath:"#/properties/front_door/properties/clients/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key10},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.front_door.properties.clients,data:data30};
if(vErrors === null){
vErrors = [err68];
}
else {
vErrors.push(err68);
}
errors++;
}
}
if(data30.refresh !== undefined){
let data31 = data30.refresh;
if(typeof data31 !== "boolean"){
const err69 = {instancePath:instancePath+"/front_door/clients/refresh",schemaPath:"#/properties/front_door/properties/clients/properties/refresh/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema31.properties.front_door.properties.clients.properties.refresh.type,parentSchema:schema31.properties.front_door.properties.clients.properties.refresh,data:data31};
if(vErrors === null){
vErrors = [err69];
}
else {
vErrors.push(err69);
}
errors++;
}
}
if(data30.metadata_documents !== undefined){
let data32 = data30.metadata_documents;
if(Array.isArray(data32)){
const len4 = data32.length;
for(let i8=0; i8<len4; i8++){
let data33 = data32[i8];
if(typeof data33 === "string"){
if(!pattern36.test(data33)){
const err70 = {instancePath:instancePath+"/front_door/clients/metadata_documents/" + i8,schemaPath:"#/properties/front_door/properties/clients/properties/metadata_documents/items/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema31.properties.front_door.properties.clients.properties.metadata_documents.items,data:data33};
if(vErrors === null){
vErrors = [err70];
}
else {
vErrors.push(err70);
}
errors++;
}
}
else {
const err71 = {instancePath:instancePath+"/front_door/clients/metadata_documents/" + i8,schemaPath:"#/properties/front_door/properties/clients/properties/metadata_documents/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.front_door.properties.clients.properties.metadata_documents.items.type,parentSchema:schema31.properties.front_door.properties.clients.properties.metadata_documents.items,data:data33};
if(vErrors === null){
vErrors = [err71];
}
else {
vErrors.push(err71);
}
errors++;
}
}
let i9 = data32.length;
let j4;
if(i9 > 1){
const indices3 = {};
for(;i9--;){
let item3 = data32[i9];
if(typeof item3 !== "string"){
continue;
}
if(typeof indices3[item3] == "number"){
j4 = indices3[item3];
const err72 = {instancePath:instancePath+"/front_door/clients/metadata_documents",schemaPath:"#/properties/front_door/properties/clients/properties/metadata_documents/uniqueItems",keyword:"uniqueItems",params:{i: i9, j: j4},message:"must NOT have duplicate items (items ## "+j4+" and "+i9+" are identical)",schema:true,parentSchema:schema31.properties.front_door.properties.clients.properties.metadata_documents,data:data32};
if(vErrors === null){
vErrors = [err72];
}
else {
vErrors.push(err72);
}
errors++;
break;
}
indices3[item3] = i9;
}
}
}
else {
const err73 = {instancePath:instancePath+"/front_door/clients/metadata_documents",schemaPath:"#/properties/front_door/properties/clients/properties/metadata_documents/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema31.properties.front_door.properties.clients.properties.metadata_documents.type,parentSchema:schema31.properties.front_door.properties.clients.properties.metadata_documents,data:data32};
if(vErrors === null){
vErrors = [err73];
}
else {
vErrors.push(err73);
}
errors++;
}
}
if(data30.document_addresses !== undefined){
let data34 = data30.document_addresses;
if(Array.isArray(data34)){
const len5 = data34.length;
for(let i10=0; i10<len5; i10++){
let data35 = data34[i10];
if(typeof data35 === "string"){
if(!pattern8.test(data35)){
const err74 = {instancePath:instancePath+"/front_door/clients/document_addresses/" + i10,schemaPath:"#/properties/front_door/properties/clients/properties/document_addresses/items/pattern",keyword:"pattern",params:{pattern: "^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[0-9A-Fa-f:.]+(?:/[0-9]{1,3})?$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema31.properties.front_door.properties.clients.properties.document_addresses.items,data:data35};
if(vErrors === null){
vErrors = [err74];
}
else {
vErrors.push(err74);
}
errors++;
}
}
else {
const err75 = {instancePath:instancePath+"/front_door/clients/document_addresses/" + i10,schemaPath:"#/properties/front_door/properties/clients/properties/document_addresses/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.front_door.properties.clients.properties.document_addresses.items.type,parentSchema:schema31.properties.front_door.properties.clients.properties.document_addresses.items,data:data35};
if(vErrors === null){
vErrors = [err75];
}
else {
vErrors.push(err75);
}
errors++;
}
}
let i11 = data34.length;
let j5;
if(i11 > 1){
const indices4 = {};
for(;i11--;){
let item4 = data34[i11];
if(typeof item4 !== "string"){
continue;
}
if(typeof indices4[item4] == "number"){
j5 = indices4[item4];
const err76 = {instancePath:instancePath+"/front_door/clients/document_addresses",schemaPath:"#/properties/front_door/properties/clients/properties/document_addresses/uniqueItems",keyword:"uniqueItems",params:{i: i11, j: j5},message:"must NOT have duplicate items (items ## "+j5+" and "+i11+" are identical)",schema:true,parentSchema:schema31.properties.front_door.properties.clients.properties.document_addresses,data:data34};
if(vErrors === null){
vErrors = [err76];
}
else {
vErrors.push(err76);
}
errors++;
break;
}
indices4[item4] = i11;
}
}
}
else {
const err77 = {instancePath:instancePath+"/front_door/clients/document_addresses",schemaPath:"#/properties/front_door/properties/clients/properties/document_addresses/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema31.properties.front_door.properties.clients.properties.document_addresses.type,parentSchema:schema31.properties.front_door.properties.clients.properties.document_addresses,data:data34};
if(vErrors === null){
vErrors = [err77];
}
else {
vErrors.push(err77);
}
errors++;
}
}
if(data30.registration !== undefined){
let data36 = data30.registration;
if(data36 && typeof data36 == "object" && !Array.isArray(data36)){
if(data36.redirect_uris === undefined){
const err78 = {instancePath:instancePath+"/front_door/clients/registration",schemaPath:"#/properties/front_door/properties/clients/properties/registration/required",keyword:"required",params:{missingProperty: "redirect_uris"},message:"must have required property '"+"redirect_uris"+"'",schema:schema31.properties.front_door.properties.clients.properties.registration.required,parentSchema:schema31.properties.front_door.properties.clients.properties.registration,data:data36};
if(vErrors === null){
vErrors = [err78];
}
else {
vErrors.push(err78);
}
errors++;
}
for(const key11 in data36){
if(!(((key11 === "redirect_uris") || (key11 === "initial_access_token")) || (key11 === "lifetime"))){
const err79 = {instancePath:instancePath+"/front_door/clients/registration",schemaPath:"#/properties/front_door/properties/clients/properties/registration/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key11},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.front_door.properties.clients.properties.registration,data:data36};
if(vErrors === null){
vErrors = [err79];
}
else {
vErrors.push(err79);
}
errors++;
}
}
if(data36.redirect_uris !== undefined){
let data37 = data36.redirect_uris;
if(Array.isArray(data37)){
if(data37.length < 1){
const err80 = {instancePath:instancePath+"/front_door/clients/registration/redirect_uris",schemaPath:"#/properties/front_door/properties/clients/properties/registration/properties/redirect_uris/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema31.properties.front_door.properties.clients.properties.registration.properties.redirect_uris,data:data37};
if(vErrors === null){
vErrors = [err80];
}
else {
vErrors.push(err80);
}
errors++;
}
const len6 = data37.length;
for(let i12=0; i12<len6; i12++){
let data38 = data37[i12];
if(typeof data38 === "string"){
if(!pattern36.test(data38)){
const err81 = {instancePath:instancePath+"/front_door/clients/registration/redirect_uris/" + i12,schemaPath:"#/properties/front_door/properties/clients/properties/registration/properties/redirect_uris/items/pattern",keyword:"pattern",params:{pattern: "^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[a-z][a-z0-9+.-]*://\\S+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema31.properties.front_door.properties.clients.properties.registration.properties.redirect_uris.items,data:data38};
if(vErrors === null){
vErrors = [err81];
}
else {
vErrors.push(err81);
}
errors++;
}
}
else {
const err82 = {instancePath:instancePath+"/front_door/clients/registration/redirect_uris/" + i12,schemaPath:"#/properties/front_door/properties/clients/properties/registration/properties/redirect_uris/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.front_door.properties.clients.properties.registration.properties.redirect_uris.items.type,parentSchema:schema31.properties.front_door.properties.clients.properties.registration.properties.redirect_uris.items,data:data38};
if(vErrors === null){
vErrors = [err82];
}
else {
vErrors.push(err82);
}
errors++;
}
}
let i13 = data37.length;
let j6;
if(i13 > 1){
const indices5 = {};
for(;i13--;){
let item5 = data37[i13];
if(typeof item5 !== "string"){
continue;
}
if(typeof indices5[item5] == "number"){
j6 = indices5[item5];
const err83 = {instancePath:instancePath+"/front_door/clients/registration/redirect_uris",schemaPath:"#/properties/front_door/properties/clients/properties/registration/properties/redirect_uris/uniqueItems",keyword:"uniqueItems",params:{i: i13, j: j6},message:"must NOT have duplicate items (items ## "+j6+" and "+i13+" are identical)",schema:true,parentSchema:schema31.properties.front_door.properties.clients.properties.registration.properties.redirect_uris,data:data37};
if(vErrors === null){
vErrors = [err83];
}
else {
vErrors.push(err83);
}
errors++;
break;
}
indices5[item5] = i13;
}
}
}
else {
const err84 = {instancePath:instancePath+"/front_door/clients/registration/redirect_uris",schemaPath:"#/properties/front_door/properties/clients/properties/registration/properties/redirect_uris/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema31.properties.front_door.properties.clients.properties.registration.properties.redirect_uris.type,parentSchema:schema31.properties.front_door.properties.clients.properties.registration.properties.redirect_uris,data:data37};
if(vErrors === null){
vErrors = [err84];
}
else {
vErrors.push(err84);
}
errors++;
}
}
if(data36.initial_access_token !== undefined){
let data39 = data36.initial_access_token;
if(typeof data39 === "string"){
if(func2(data39) < 1){
const err85 = {instancePath:instancePath+"/front_door/clients/registration/initial_access_token",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data39};
if(vErrors === null){
vErrors = [err85];
}
else {
vErrors.push(err85);
}
errors++;
}
}
else {
const err86 = {instancePath:instancePath+"/front_door/clients/registration/initial_access_token",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data39};
if(vErrors === null){
vErrors = [err86];
}
else {
vErrors.push(err86);
}
errors++;
}
}
if(data36.lifetime !== undefined){
let data40 = data36.lifetime;
if(typeof data40 === "string"){
if(!pattern39.test(data40)){
const err87 = {instancePath:instancePath+"/front_door/clients/registration/lifetime",schemaPath:"#/$defs/days/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h|d)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h|d)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h|d)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema76,data:data40};
if(vErrors === null){
vErrors = [err87];
}
else {
vErrors.push(err87);
}
errors++;
}
}
else {
const err88 = {instancePath:instancePath+"/front_door/clients/registration/lifetime",schemaPath:"#/$defs/days/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema76.type,parentSchema:schema76,data:data40};
if(vErrors === null){
vErrors = [err88];
}
else {
vErrors.push(err88);
}
errors++;
}
}
}
else {
const err89 = {instancePath:instancePath+"/front_door/clients/registration",schemaPath:"#/properties/front_door/properties/clients/properties/registration/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.front_door.properties.clients.properties.registration.type,parentSchema:schema31.properties.front_door.properties.clients.properties.registration,data:data36};
if(vErrors === null){
vErrors = [err89];
}
else {
vErrors.push(err89);
}
errors++;
}
}
if(data30.registered !== undefined){
let data41 = data30.registered;
if(data41 && typeof data41 == "object" && !Array.isArray(data41)){
for(const key12 in data41){
const _errs109 = errors;
if(typeof key12 === "string"){
if(!pattern35.test(key12)){
const err90 = {instancePath:instancePath+"/front_door/clients/registered",schemaPath:"#/properties/front_door/properties/clients/properties/registered/propertyNames/pattern",keyword:"pattern",params:{pattern: "^[!-~]+$"},message:"must match pattern \""+"^[!-~]+$"+"\"",schema:"^[!-~]+$",parentSchema:schema31.properties.front_door.properties.clients.properties.registered.propertyNames,data:key12,propertyName:key12};
if(vErrors === null){
vErrors = [err90];
}
else {
vErrors.push(err90);
}
errors++;
}
}
var valid47 = _errs109 === errors;
if(!valid47){
const err91 = {instancePath:instancePath+"/front_door/clients/registered",schemaPath:"#/properties/front_door/properties/clients/properties/registered/propertyNames",keyword:"propertyNames",params:{propertyName: key12},message:"property name must be valid",schema:schema31.properties.front_door.properties.clients.properties.registered.propertyNames,parentSchema:schema31.properties.front_door.properties.clients.properties.registered,data:data41};
if(vErrors === null){
vErrors = [err91];
}
else {
vErrors.push(err91);
}
errors++;
}
}
for(const key13 in data41){
if(!(validate32(data41[key13], {instancePath:instancePath+"/front_door/clients/registered/" + key13.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data41,parentDataProperty:key13,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate32.errors : vErrors.concat(validate32.errors);
errors = vErrors.length;
}
}
}
else {
const err92 = {instancePath:instancePath+"/front_door/clients/registered",schemaPath:"#/properties/front_door/properties/clients/properties/registered/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.front_door.properties.clients.properties.registered.type,parentSchema:schema31.properties.front_door.properties.clients.properties.registered,data:data41};
if(vErrors === null){
vErrors = [err92];
}
else {
vErrors.push(err92);
}
errors++;
}
}
}
else {
const err93 = {instancePath:instancePath+"/front_door/clients",schemaPath:"#/properties/front_door/properties/clients/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.front_door.properties.clients.type,parentSchema:schema31.properties.front_door.properties.clients,data:data30};
if(vErrors === null){
vErrors = [err93];
}
else {
vErrors.push(err93);
}
errors++;
}
}
if(data23.scopes !== undefined){
let data43 = data23.scopes;
if(data43 && typeof data43 == "object" && !Array.isArray(data43)){
if(Object.keys(data43).length < 1){
const err94 = {instancePath:instancePath+"/front_door/scopes",schemaPath:"#/properties/front_door/properties/scopes/minProperties",keyword:"minProperties",params:{limit: 1},message:"must NOT have fewer than 1 properties",schema:1,parentSchema:schema31.properties.front_door.properties.scopes,data:data43};
if(vErrors === null){
vErrors = [err94];
}
else {
vErrors.push(err94);
}
errors++;
}
for(const key14 in data43){
const _errs114 = errors;
if(typeof key14 === "string"){
if(!pattern42.test(key14)){
const err95 = {instancePath:instancePath+"/front_door/scopes",schemaPath:"#/properties/front_door/properties/scopes/propertyNames/pattern",keyword:"pattern",params:{pattern: "^(?!.*\\$\\{)[\\x21\\x23-\\x5B\\x5D-\\x7E]+$"},message:"must match pattern \""+"^(?!.*\\$\\{)[\\x21\\x23-\\x5B\\x5D-\\x7E]+$"+"\"",schema:"^(?!.*\\$\\{)[\\x21\\x23-\\x5B\\x5D-\\x7E]+$",parentSchema:schema31.properties.front_door.properties.scopes.propertyNames,data:key14,propertyName:key14};
if(vErrors === null){
vErrors = [err95];
}
else {
vErrors.push(err95);
}
errors++;
}
}
var valid49 = _errs114 === errors;
if(!valid49){
const err96 = {instancePath:instancePath+"/front_door/scopes",schemaPath:"#/properties/front_door/properties/scopes/propertyNames",keyword:"propertyNames",params:{propertyName: key14},message:"property name must be valid",schema:schema31.properties.front_door.properties.scopes.propertyNames,parentSchema:schema31.properties.front_door.properties.scopes,data:data43};
if(vErrors === null){
vErrors = [err96];
}
else {
vErrors.push(err96);
}
errors++;
}
}
for(const key15 in data43){
let data44 = data43[key15];
if(data44 && typeof data44 == "object" && !Array.isArray(data44)){
if(data44.title === undefined){
const err97 = {instancePath:instancePath+"/front_door/scopes/" + key15.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/front_door/properties/scopes/additionalProperties/required",keyword:"required",params:{missingProperty: "title"},message:"must have required property '"+"title"+"'",schema:schema31.properties.front_door.properties.scopes.additionalProperties.required,parentSchema:schema31.properties.front_door.properties.scopes.additionalProperties,data:data44};
if(vErrors === null){
vErrors = [err97];
}
else {
vErrors.push(err97);
}
errors++;
}
for(const key16 in data44){
if(!(((key16 === "title") || (key16 === "lifetime")) || (key16 === "max_age"))){
const err98 = {instancePath:instancePath+"/front_door/scopes/" + key15.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/front_door/properties/scopes/additionalProperties/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key16},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.front_door.properties.scopes.additionalProperties,data:data44};
if(vErrors === null){
vErrors = [err98];
}
else {
vErrors.push(err98);
}
errors++;
}
}
if(data44.title !== undefined){
let data45 = data44.title;
if(typeof data45 === "string"){
if(func2(data45) < 1){
const err99 = {instancePath:instancePath+"/front_door/scopes/" + key15.replace(/~/g, "~0").replace(/\//g, "~1")+"/title",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data45};
if(vErrors === null){
vErrors = [err99];
}
else {
vErrors.push(err99);
}
errors++;
}
}
else {
const err100 = {instancePath:instancePath+"/front_door/scopes/" + key15.replace(/~/g, "~0").replace(/\//g, "~1")+"/title",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data45};
if(vErrors === null){
vErrors = [err100];
}
else {
vErrors.push(err100);
}
errors++;
}
}
if(data44.lifetime !== undefined){
let data46 = data44.lifetime;
if(typeof data46 === "string"){
if(!pattern19.test(data46)){
const err101 = {instancePath:instancePath+"/front_door/scopes/" + key15.replace(/~/g, "~0").replace(/\//g, "~1")+"/lifetime",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data46};
if(vErrors === null){
vErrors = [err101];
}
else {
vErrors.push(err101);
}
errors++;
}
}
else {
const err102 = {instancePath:instancePath+"/front_door/scopes/" + key15.replace(/~/g, "~0").replace(/\//g, "~1")+"/lifetime",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data46};
if(vErrors === null){
vErrors = [err102];
}
else {
vErrors.push(err102);
}
errors++;
}
}
if(data44.max_age !== undefined){
let data47 = data44.max_age;
if(typeof data47 === "string"){
if(!pattern19.test(data47)){
const err103 = {instancePath:instancePath+"/front_door/scopes/" + key15.replace(/~/g, "~0").replace(/\//g, "~1")+"/max_age",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data47};
if(vErrors === null){
vErrors = [err103];
}
else {
vErrors.push(err103);
}
errors++;
}
}
else {
const err104 = {instancePath:instancePath+"/front_door/scopes/" + key15.replace(/~/g, "~0").replace(/\//g, "~1")+"/max_age",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data47};
if(vErrors === null){
vErrors = [err104];
}
else {
vErrors.push(err104);
}
errors++;
}
}
}
else {
const err105 = {instancePath:instancePath+"/front_door/scopes/" + key15.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/properties/front_door/properties/scopes/additionalProperties/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.front_door.properties.scopes.additionalProperties.type,parentSchema:schema31.properties.front_door.properties.scopes.additionalProperties,data:data44};
if(vErrors === null){
vErrors = [err105];
}
else {
vErrors.push(err105);
}
errors++;
}
}
}
else {
const err106 = {instancePath:instancePath+"/front_door/scopes",schemaPath:"#/properties/front_door/properties/scopes/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.front_door.properties.scopes.type,parentSchema:schema31.properties.front_door.properties.scopes,data:data43};
if(vErrors === null){
vErrors = [err106];
}
else {
vErrors.push(err106);
}
errors++;
}
}
if(data23.tokens !== undefined){
let data48 = data23.tokens;
if(data48 && typeof data48 == "object" && !Array.isArray(data48)){
for(const key17 in data48){
if(!((key17 === "format") || (key17 === "lifetime"))){
const err107 = {instancePath:instancePath+"/front_door/tokens",schemaPath:"#/properties/front_door/properties/tokens/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key17},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.front_door.properties.tokens,data:data48};
if(vErrors === null){
vErrors = [err107];
}
else {
vErrors.push(err107);
}
errors++;
}
}
if(data48.format !== undefined){
let data49 = data48.format;
const _errs132 = errors;
let valid56 = false;
const _errs133 = errors;
if(!((data49 === "opaque") || (data49 === "jwt"))){
const err108 = {instancePath:instancePath+"/front_door/tokens/format",schemaPath:"#/properties/front_door/properties/tokens/properties/format/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema31.properties.front_door.properties.tokens.properties.format.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema31.properties.front_door.properties.tokens.properties.format.anyOf[0].enum,parentSchema:schema31.properties.front_door.properties.tokens.properties.format.anyOf[0],data:data49};
if(vErrors === null){
vErrors = [err108];
}
else {
vErrors.push(err108);
}
errors++;
}
var _valid0 = _errs133 === errors;
valid56 = valid56 || _valid0;
const _errs134 = errors;
if(typeof data49 === "string"){
if(!pattern15.test(data49)){
const err109 = {instancePath:instancePath+"/front_door/tokens/format",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data49};
if(vErrors === null){
vErrors = [err109];
}
else {
vErrors.push(err109);
}
errors++;
}
}
else {
const err110 = {instancePath:instancePath+"/front_door/tokens/format",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data49};
if(vErrors === null){
vErrors = [err110];
}
else {
vErrors.push(err110);
}
errors++;
}
var _valid0 = _errs134 === errors;
valid56 = valid56 || _valid0;
if(!valid56){
const err111 = {instancePath:instancePath+"/front_door/tokens/format",schemaPath:"#/properties/front_door/properties/tokens/properties/format/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema31.properties.front_door.properties.tokens.properties.format.anyOf,parentSchema:schema31.properties.front_door.properties.tokens.properties.format,data:data49};
if(vErrors === null){
vErrors = [err111];
}
else {
vErrors.push(err111);
}
errors++;
}
else {
errors = _errs132;
if(vErrors !== null){
if(_errs132){
vErrors.length = _errs132;
}
else {
vErrors = null;
}
}
}
}
if(data48.lifetime !== undefined){
let data50 = data48.lifetime;
if(typeof data50 === "string"){
if(!pattern19.test(data50)){
const err112 = {instancePath:instancePath+"/front_door/tokens/lifetime",schemaPath:"#/$defs/duration/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:0|[1-9][0-9]*)(?:ms|s|m|h)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema54,data:data50};
if(vErrors === null){
vErrors = [err112];
}
else {
vErrors.push(err112);
}
errors++;
}
}
else {
const err113 = {instancePath:instancePath+"/front_door/tokens/lifetime",schemaPath:"#/$defs/duration/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema54.type,parentSchema:schema54,data:data50};
if(vErrors === null){
vErrors = [err113];
}
else {
vErrors.push(err113);
}
errors++;
}
}
}
else {
const err114 = {instancePath:instancePath+"/front_door/tokens",schemaPath:"#/properties/front_door/properties/tokens/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.front_door.properties.tokens.type,parentSchema:schema31.properties.front_door.properties.tokens,data:data48};
if(vErrors === null){
vErrors = [err114];
}
else {
vErrors.push(err114);
}
errors++;
}
}
if(data23.assertions !== undefined){
let data51 = data23.assertions;
if(data51 && typeof data51 == "object" && !Array.isArray(data51)){
for(const key18 in data51){
const _errs142 = errors;
if(typeof key18 === "string"){
if(!pattern12.test(key18)){
const err115 = {instancePath:instancePath+"/front_door/assertions",schemaPath:"#/properties/front_door/properties/assertions/propertyNames/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},message:"must match pattern \""+"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"+"\"",schema:"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",parentSchema:schema31.properties.front_door.properties.assertions.propertyNames,data:key18,propertyName:key18};
if(vErrors === null){
vErrors = [err115];
}
else {
vErrors.push(err115);
}
errors++;
}
}
var valid59 = _errs142 === errors;
if(!valid59){
const err116 = {instancePath:instancePath+"/front_door/assertions",schemaPath:"#/properties/front_door/properties/assertions/propertyNames",keyword:"propertyNames",params:{propertyName: key18},message:"property name must be valid",schema:schema31.properties.front_door.properties.assertions.propertyNames,parentSchema:schema31.properties.front_door.properties.assertions,data:data51};
if(vErrors === null){
vErrors = [err116];
}
else {
vErrors.push(err116);
}
errors++;
}
}
for(const key19 in data51){
if(!(validate34(data51[key19], {instancePath:instancePath+"/front_door/assertions/" + key19.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data51,parentDataProperty:key19,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate34.errors : vErrors.concat(validate34.errors);
errors = vErrors.length;
}
}
}
else {
const err117 = {instancePath:instancePath+"/front_door/assertions",schemaPath:"#/properties/front_door/properties/assertions/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.front_door.properties.assertions.type,parentSchema:schema31.properties.front_door.properties.assertions,data:data51};
if(vErrors === null){
vErrors = [err117];
}
else {
vErrors.push(err117);
}
errors++;
}
}
}
else {
const err118 = {instancePath:instancePath+"/front_door",schemaPath:"#/properties/front_door/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.front_door.type,parentSchema:schema31.properties.front_door,data:data23};
if(vErrors === null){
vErrors = [err118];
}
else {
vErrors.push(err118);
}
errors++;
}
}
if(data.scopes !== undefined){
let data53 = data.scopes;
if(data53 && typeof data53 == "object" && !Array.isArray(data53)){
for(const key20 in data53){
const _errs147 = errors;
if(typeof key20 === "string"){
if(!pattern42.test(key20)){
const err119 = {instancePath:instancePath+"/scopes",schemaPath:"#/properties/scopes/propertyNames/pattern",keyword:"pattern",params:{pattern: "^(?!.*\\$\\{)[\\x21\\x23-\\x5B\\x5D-\\x7E]+$"},message:"must match pattern \""+"^(?!.*\\$\\{)[\\x21\\x23-\\x5B\\x5D-\\x7E]+$"+"\"",schema:"^(?!.*\\$\\{)[\\x21\\x23-\\x5B\\x5D-\\x7E]+$",parentSchema:schema31.properties.scopes.propertyNames,data:key20,propertyName:key20};
if(vErrors === null){
vErrors = [err119];
}
else {
vErrors.push(err119);
}
errors++;
}
}
var valid61 = _errs147 === errors;
if(!valid61){
const err120 = {instancePath:instancePath+"/scopes",schemaPath:"#/properties/scopes/propertyNames",keyword:"propertyNames",params:{propertyName: key20},message:"property name must be valid",schema:schema31.properties.scopes.propertyNames,parentSchema:schema31.properties.scopes,data:data53};
if(vErrors === null){
vErrors = [err120];
}
else {
vErrors.push(err120);
}
errors++;
}
}
for(const key21 in data53){
if(!(validate29(data53[key21], {instancePath:instancePath+"/scopes/" + key21.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data53,parentDataProperty:key21,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate29.errors : vErrors.concat(validate29.errors);
errors = vErrors.length;
}
}
}
else {
const err121 = {instancePath:instancePath+"/scopes",schemaPath:"#/properties/scopes/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.scopes.type,parentSchema:schema31.properties.scopes,data:data53};
if(vErrors === null){
vErrors = [err121];
}
else {
vErrors.push(err121);
}
errors++;
}
}
if(data.policies !== undefined){
let data55 = data.policies;
if(typeof data55 === "string"){
if(func2(data55) < 1){
const err122 = {instancePath:instancePath+"/policies",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data55};
if(vErrors === null){
vErrors = [err122];
}
else {
vErrors.push(err122);
}
errors++;
}
}
else {
const err123 = {instancePath:instancePath+"/policies",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data55};
if(vErrors === null){
vErrors = [err123];
}
else {
vErrors.push(err123);
}
errors++;
}
}
if(data.session_key !== undefined){
let data56 = data.session_key;
if(typeof data56 === "string"){
if(func2(data56) < 1){
const err124 = {instancePath:instancePath+"/session_key",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data56};
if(vErrors === null){
vErrors = [err124];
}
else {
vErrors.push(err124);
}
errors++;
}
}
else {
const err125 = {instancePath:instancePath+"/session_key",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data56};
if(vErrors === null){
vErrors = [err125];
}
else {
vErrors.push(err125);
}
errors++;
}
}
if(data.shared !== undefined){
let data57 = data.shared;
if(typeof data57 === "string"){
if(!pattern52.test(data57)){
const err126 = {instancePath:instancePath+"/shared",schemaPath:"#/properties/shared/pattern",keyword:"pattern",params:{pattern: "^rediss?://[^/]|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^rediss?://[^/]|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^rediss?://[^/]|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema31.properties.shared,data:data57};
if(vErrors === null){
vErrors = [err126];
}
else {
vErrors.push(err126);
}
errors++;
}
}
else {
const err127 = {instancePath:instancePath+"/shared",schemaPath:"#/properties/shared/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.shared.type,parentSchema:schema31.properties.shared,data:data57};
if(vErrors === null){
vErrors = [err127];
}
else {
vErrors.push(err127);
}
errors++;
}
}
if(data.on_store_failure !== undefined){
let data58 = data.on_store_failure;
const _errs159 = errors;
let valid65 = false;
const _errs160 = errors;
if(!((data58 === "closed") || (data58 === "open"))){
const err128 = {instancePath:instancePath+"/on_store_failure",schemaPath:"#/properties/on_store_failure/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema31.properties.on_store_failure.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema31.properties.on_store_failure.anyOf[0].enum,parentSchema:schema31.properties.on_store_failure.anyOf[0],data:data58};
if(vErrors === null){
vErrors = [err128];
}
else {
vErrors.push(err128);
}
errors++;
}
var _valid1 = _errs160 === errors;
valid65 = valid65 || _valid1;
const _errs161 = errors;
if(typeof data58 === "string"){
if(!pattern15.test(data58)){
const err129 = {instancePath:instancePath+"/on_store_failure",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data58};
if(vErrors === null){
vErrors = [err129];
}
else {
vErrors.push(err129);
}
errors++;
}
}
else {
const err130 = {instancePath:instancePath+"/on_store_failure",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data58};
if(vErrors === null){
vErrors = [err130];
}
else {
vErrors.push(err130);
}
errors++;
}
var _valid1 = _errs161 === errors;
valid65 = valid65 || _valid1;
if(!valid65){
const err131 = {instancePath:instancePath+"/on_store_failure",schemaPath:"#/properties/on_store_failure/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema31.properties.on_store_failure.anyOf,parentSchema:schema31.properties.on_store_failure,data:data58};
if(vErrors === null){
vErrors = [err131];
}
else {
vErrors.push(err131);
}
errors++;
}
else {
errors = _errs159;
if(vErrors !== null){
if(_errs159){
vErrors.length = _errs159;
}
else {
vErrors = null;
}
}
}
}
if(data.allowed_hosts !== undefined){
let data59 = data.allowed_hosts;
if(Array.isArray(data59)){
const len7 = data59.length;
for(let i14=0; i14<len7; i14++){
let data60 = data59[i14];
if(typeof data60 === "string"){
if(!pattern54.test(data60)){
const err132 = {instancePath:instancePath+"/allowed_hosts/" + i14,schemaPath:"#/properties/allowed_hosts/items/pattern",keyword:"pattern",params:{pattern: "^(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^(?:[A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema31.properties.allowed_hosts.items,data:data60};
if(vErrors === null){
vErrors = [err132];
}
else {
vErrors.push(err132);
}
errors++;
}
}
else {
const err133 = {instancePath:instancePath+"/allowed_hosts/" + i14,schemaPath:"#/properties/allowed_hosts/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema31.properties.allowed_hosts.items.type,parentSchema:schema31.properties.allowed_hosts.items,data:data60};
if(vErrors === null){
vErrors = [err133];
}
else {
vErrors.push(err133);
}
errors++;
}
}
let i15 = data59.length;
let j7;
if(i15 > 1){
const indices6 = {};
for(;i15--;){
let item6 = data59[i15];
if(typeof item6 !== "string"){
continue;
}
if(typeof indices6[item6] == "number"){
j7 = indices6[item6];
const err134 = {instancePath:instancePath+"/allowed_hosts",schemaPath:"#/properties/allowed_hosts/uniqueItems",keyword:"uniqueItems",params:{i: i15, j: j7},message:"must NOT have duplicate items (items ## "+j7+" and "+i15+" are identical)",schema:true,parentSchema:schema31.properties.allowed_hosts,data:data59};
if(vErrors === null){
vErrors = [err134];
}
else {
vErrors.push(err134);
}
errors++;
break;
}
indices6[item6] = i15;
}
}
}
else {
const err135 = {instancePath:instancePath+"/allowed_hosts",schemaPath:"#/properties/allowed_hosts/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema31.properties.allowed_hosts.type,parentSchema:schema31.properties.allowed_hosts,data:data59};
if(vErrors === null){
vErrors = [err135];
}
else {
vErrors.push(err135);
}
errors++;
}
}
if(data.allowed_origins !== undefined){
let data61 = data.allowed_origins;
if(Array.isArray(data61)){
const len8 = data61.length;
for(let i16=0; i16<len8; i16++){
let data62 = data61[i16];
if(typeof data62 === "string"){
if(!pattern4.test(data62)){
const err136 = {instancePath:instancePath+"/allowed_origins/" + i16,schemaPath:"#/$defs/origin/pattern",keyword:"pattern",params:{pattern: "^https?://[^/?#@\\s]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^/?#@\\s]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^/?#@\\s]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema32,data:data62};
if(vErrors === null){
vErrors = [err136];
}
else {
vErrors.push(err136);
}
errors++;
}
}
else {
const err137 = {instancePath:instancePath+"/allowed_origins/" + i16,schemaPath:"#/$defs/origin/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema32.type,parentSchema:schema32,data:data62};
if(vErrors === null){
vErrors = [err137];
}
else {
vErrors.push(err137);
}
errors++;
}
}
let i17 = data61.length;
let j8;
if(i17 > 1){
outer1:
for(;i17--;){
for(j8 = i17; j8--;){
if(func0(data61[i17], data61[j8])){
const err138 = {instancePath:instancePath+"/allowed_origins",schemaPath:"#/properties/allowed_origins/uniqueItems",keyword:"uniqueItems",params:{i: i17, j: j8},message:"must NOT have duplicate items (items ## "+j8+" and "+i17+" are identical)",schema:true,parentSchema:schema31.properties.allowed_origins,data:data61};
if(vErrors === null){
vErrors = [err138];
}
else {
vErrors.push(err138);
}
errors++;
break outer1;
}
}
}
}
}
else {
const err139 = {instancePath:instancePath+"/allowed_origins",schemaPath:"#/properties/allowed_origins/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema31.properties.allowed_origins.type,parentSchema:schema31.properties.allowed_origins,data:data61};
if(vErrors === null){
vErrors = [err139];
}
else {
vErrors.push(err139);
}
errors++;
}
}
if(data.limits !== undefined){
let data63 = data.limits;
if(data63 && typeof data63 == "object" && !Array.isArray(data63)){
for(const key22 in data63){
if(!((((key22 === "request_body") || (key22 === "request_headers")) || (key22 === "rate")) || (key22 === "failures"))){
const err140 = {instancePath:instancePath+"/limits",schemaPath:"#/properties/limits/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key22},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.limits,data:data63};
if(vErrors === null){
vErrors = [err140];
}
else {
vErrors.push(err140);
}
errors++;
}
}
if(data63.request_body !== undefined){
let data64 = data63.request_body;
if(typeof data64 === "string"){
if(!pattern56.test(data64)){
const err141 = {instancePath:instancePath+"/limits/request_body",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^[1-9][0-9]*(?:B|KiB|MiB)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[1-9][0-9]*(?:B|KiB|MiB)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[1-9][0-9]*(?:B|KiB|MiB)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema95,data:data64};
if(vErrors === null){
vErrors = [err141];
}
else {
vErrors.push(err141);
}
errors++;
}
}
else {
const err142 = {instancePath:instancePath+"/limits/request_body",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema95.type,parentSchema:schema95,data:data64};
if(vErrors === null){
vErrors = [err142];
}
else {
vErrors.push(err142);
}
errors++;
}
}
if(data63.request_headers !== undefined){
let data65 = data63.request_headers;
if(typeof data65 === "string"){
if(!pattern56.test(data65)){
const err143 = {instancePath:instancePath+"/limits/request_headers",schemaPath:"#/$defs/size/pattern",keyword:"pattern",params:{pattern: "^[1-9][0-9]*(?:B|KiB|MiB)$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^[1-9][0-9]*(?:B|KiB|MiB)$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^[1-9][0-9]*(?:B|KiB|MiB)$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema95,data:data65};
if(vErrors === null){
vErrors = [err143];
}
else {
vErrors.push(err143);
}
errors++;
}
}
else {
const err144 = {instancePath:instancePath+"/limits/request_headers",schemaPath:"#/$defs/size/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema95.type,parentSchema:schema95,data:data65};
if(vErrors === null){
vErrors = [err144];
}
else {
vErrors.push(err144);
}
errors++;
}
}
if(data63.rate !== undefined){
if(!(validate38(data63.rate, {instancePath:instancePath+"/limits/rate",parentData:data63,parentDataProperty:"rate",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate38.errors : vErrors.concat(validate38.errors);
errors = vErrors.length;
}
}
if(data63.failures !== undefined){
if(!(validate38(data63.failures, {instancePath:instancePath+"/limits/failures",parentData:data63,parentDataProperty:"failures",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate38.errors : vErrors.concat(validate38.errors);
errors = vErrors.length;
}
}
}
else {
const err145 = {instancePath:instancePath+"/limits",schemaPath:"#/properties/limits/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.limits.type,parentSchema:schema31.properties.limits,data:data63};
if(vErrors === null){
vErrors = [err145];
}
else {
vErrors.push(err145);
}
errors++;
}
}
if(data.log !== undefined){
let data68 = data.log;
if(data68 && typeof data68 == "object" && !Array.isArray(data68)){
for(const key23 in data68){
if(!(((key23 === "level") || (key23 === "decisions")) || (key23 === "file"))){
const err146 = {instancePath:instancePath+"/log",schemaPath:"#/properties/log/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key23},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.log,data:data68};
if(vErrors === null){
vErrors = [err146];
}
else {
vErrors.push(err146);
}
errors++;
}
}
if(data68.level !== undefined){
let data69 = data68.level;
const _errs188 = errors;
let valid78 = false;
const _errs189 = errors;
if(!((((data69 === "debug") || (data69 === "info")) || (data69 === "warn")) || (data69 === "error"))){
const err147 = {instancePath:instancePath+"/log/level",schemaPath:"#/properties/log/properties/level/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema31.properties.log.properties.level.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema31.properties.log.properties.level.anyOf[0].enum,parentSchema:schema31.properties.log.properties.level.anyOf[0],data:data69};
if(vErrors === null){
vErrors = [err147];
}
else {
vErrors.push(err147);
}
errors++;
}
var _valid2 = _errs189 === errors;
valid78 = valid78 || _valid2;
const _errs190 = errors;
if(typeof data69 === "string"){
if(!pattern15.test(data69)){
const err148 = {instancePath:instancePath+"/log/level",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data69};
if(vErrors === null){
vErrors = [err148];
}
else {
vErrors.push(err148);
}
errors++;
}
}
else {
const err149 = {instancePath:instancePath+"/log/level",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data69};
if(vErrors === null){
vErrors = [err149];
}
else {
vErrors.push(err149);
}
errors++;
}
var _valid2 = _errs190 === errors;
valid78 = valid78 || _valid2;
if(!valid78){
const err150 = {instancePath:instancePath+"/log/level",schemaPath:"#/properties/log/properties/level/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema31.properties.log.properties.level.anyOf,parentSchema:schema31.properties.log.properties.level,data:data69};
if(vErrors === null){
vErrors = [err150];
}
else {
vErrors.push(err150);
}
errors++;
}
else {
errors = _errs188;
if(vErrors !== null){
if(_errs188){
vErrors.length = _errs188;
}
else {
vErrors = null;
}
}
}
}
if(data68.decisions !== undefined){
let data70 = data68.decisions;
const _errs194 = errors;
let valid80 = false;
const _errs195 = errors;
if(!((data70 === "all") || (data70 === "denials"))){
const err151 = {instancePath:instancePath+"/log/decisions",schemaPath:"#/properties/log/properties/decisions/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema31.properties.log.properties.decisions.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema31.properties.log.properties.decisions.anyOf[0].enum,parentSchema:schema31.properties.log.properties.decisions.anyOf[0],data:data70};
if(vErrors === null){
vErrors = [err151];
}
else {
vErrors.push(err151);
}
errors++;
}
var _valid3 = _errs195 === errors;
valid80 = valid80 || _valid3;
const _errs196 = errors;
if(typeof data70 === "string"){
if(!pattern15.test(data70)){
const err152 = {instancePath:instancePath+"/log/decisions",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data70};
if(vErrors === null){
vErrors = [err152];
}
else {
vErrors.push(err152);
}
errors++;
}
}
else {
const err153 = {instancePath:instancePath+"/log/decisions",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data70};
if(vErrors === null){
vErrors = [err153];
}
else {
vErrors.push(err153);
}
errors++;
}
var _valid3 = _errs196 === errors;
valid80 = valid80 || _valid3;
if(!valid80){
const err154 = {instancePath:instancePath+"/log/decisions",schemaPath:"#/properties/log/properties/decisions/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema31.properties.log.properties.decisions.anyOf,parentSchema:schema31.properties.log.properties.decisions,data:data70};
if(vErrors === null){
vErrors = [err154];
}
else {
vErrors.push(err154);
}
errors++;
}
else {
errors = _errs194;
if(vErrors !== null){
if(_errs194){
vErrors.length = _errs194;
}
else {
vErrors = null;
}
}
}
}
if(data68.file !== undefined){
let data71 = data68.file;
if(typeof data71 === "string"){
if(func2(data71) < 1){
const err155 = {instancePath:instancePath+"/log/file",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data71};
if(vErrors === null){
vErrors = [err155];
}
else {
vErrors.push(err155);
}
errors++;
}
}
else {
const err156 = {instancePath:instancePath+"/log/file",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data71};
if(vErrors === null){
vErrors = [err156];
}
else {
vErrors.push(err156);
}
errors++;
}
}
}
else {
const err157 = {instancePath:instancePath+"/log",schemaPath:"#/properties/log/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.log.type,parentSchema:schema31.properties.log,data:data68};
if(vErrors === null){
vErrors = [err157];
}
else {
vErrors.push(err157);
}
errors++;
}
}
if(data.telemetry !== undefined){
let data72 = data.telemetry;
if(data72 && typeof data72 == "object" && !Array.isArray(data72)){
if(data72.otlp === undefined){
const err158 = {instancePath:instancePath+"/telemetry",schemaPath:"#/properties/telemetry/required",keyword:"required",params:{missingProperty: "otlp"},message:"must have required property '"+"otlp"+"'",schema:schema31.properties.telemetry.required,parentSchema:schema31.properties.telemetry,data:data72};
if(vErrors === null){
vErrors = [err158];
}
else {
vErrors.push(err158);
}
errors++;
}
for(const key24 in data72){
if(!((((key24 === "otlp") || (key24 === "service_name")) || (key24 === "sample")) || (key24 === "headers"))){
const err159 = {instancePath:instancePath+"/telemetry",schemaPath:"#/properties/telemetry/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key24},message:"must NOT have additional properties",schema:false,parentSchema:schema31.properties.telemetry,data:data72};
if(vErrors === null){
vErrors = [err159];
}
else {
vErrors.push(err159);
}
errors++;
}
}
if(data72.otlp !== undefined){
let data73 = data72.otlp;
if(typeof data73 === "string"){
if(!pattern13.test(data73)){
const err160 = {instancePath:instancePath+"/telemetry/otlp",schemaPath:"#/$defs/plainUrl/pattern",keyword:"pattern",params:{pattern: "^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"^https?://[^\\s?#@]+$|\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema41,data:data73};
if(vErrors === null){
vErrors = [err160];
}
else {
vErrors.push(err160);
}
errors++;
}
}
else {
const err161 = {instancePath:instancePath+"/telemetry/otlp",schemaPath:"#/$defs/plainUrl/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema41.type,parentSchema:schema41,data:data73};
if(vErrors === null){
vErrors = [err161];
}
else {
vErrors.push(err161);
}
errors++;
}
}
if(data72.service_name !== undefined){
let data74 = data72.service_name;
if(typeof data74 === "string"){
if(func2(data74) < 1){
const err162 = {instancePath:instancePath+"/telemetry/service_name",schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data74};
if(vErrors === null){
vErrors = [err162];
}
else {
vErrors.push(err162);
}
errors++;
}
}
else {
const err163 = {instancePath:instancePath+"/telemetry/service_name",schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data74};
if(vErrors === null){
vErrors = [err163];
}
else {
vErrors.push(err163);
}
errors++;
}
}
if(data72.sample !== undefined){
let data75 = data72.sample;
const _errs212 = errors;
let valid86 = false;
const _errs213 = errors;
if((typeof data75 == "number") && (isFinite(data75))){
if(data75 > 1 || isNaN(data75)){
const err164 = {instancePath:instancePath+"/telemetry/sample",schemaPath:"#/properties/telemetry/properties/sample/anyOf/0/maximum",keyword:"maximum",params:{comparison: "<=", limit: 1},message:"must be <= 1",schema:1,parentSchema:schema31.properties.telemetry.properties.sample.anyOf[0],data:data75};
if(vErrors === null){
vErrors = [err164];
}
else {
vErrors.push(err164);
}
errors++;
}
if(data75 < 0 || isNaN(data75)){
const err165 = {instancePath:instancePath+"/telemetry/sample",schemaPath:"#/properties/telemetry/properties/sample/anyOf/0/minimum",keyword:"minimum",params:{comparison: ">=", limit: 0},message:"must be >= 0",schema:0,parentSchema:schema31.properties.telemetry.properties.sample.anyOf[0],data:data75};
if(vErrors === null){
vErrors = [err165];
}
else {
vErrors.push(err165);
}
errors++;
}
}
else {
const err166 = {instancePath:instancePath+"/telemetry/sample",schemaPath:"#/properties/telemetry/properties/sample/anyOf/0/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema31.properties.telemetry.properties.sample.anyOf[0].type,parentSchema:schema31.properties.telemetry.properties.sample.anyOf[0],data:data75};
if(vErrors === null){
vErrors = [err166];
}
else {
vErrors.push(err166);
}
errors++;
}
var _valid4 = _errs213 === errors;
valid86 = valid86 || _valid4;
const _errs215 = errors;
if(typeof data75 === "string"){
if(!pattern15.test(data75)){
const err167 = {instancePath:instancePath+"/telemetry/sample",schemaPath:"#/$defs/placeholder/pattern",keyword:"pattern",params:{pattern: "\\$\\{(?:env|file):[^}]+\\}"},message:"must match pattern \""+"\\$\\{(?:env|file):[^}]+\\}"+"\"",schema:"\\$\\{(?:env|file):[^}]+\\}",parentSchema:schema44,data:data75};
if(vErrors === null){
vErrors = [err167];
}
else {
vErrors.push(err167);
}
errors++;
}
}
else {
const err168 = {instancePath:instancePath+"/telemetry/sample",schemaPath:"#/$defs/placeholder/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema44.type,parentSchema:schema44,data:data75};
if(vErrors === null){
vErrors = [err168];
}
else {
vErrors.push(err168);
}
errors++;
}
var _valid4 = _errs215 === errors;
valid86 = valid86 || _valid4;
if(!valid86){
const err169 = {instancePath:instancePath+"/telemetry/sample",schemaPath:"#/properties/telemetry/properties/sample/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema31.properties.telemetry.properties.sample.anyOf,parentSchema:schema31.properties.telemetry.properties.sample,data:data75};
if(vErrors === null){
vErrors = [err169];
}
else {
vErrors.push(err169);
}
errors++;
}
else {
errors = _errs212;
if(vErrors !== null){
if(_errs212){
vErrors.length = _errs212;
}
else {
vErrors = null;
}
}
}
}
if(data72.headers !== undefined){
let data76 = data72.headers;
if(data76 && typeof data76 == "object" && !Array.isArray(data76)){
for(const key25 in data76){
const _errs220 = errors;
if(typeof key25 === "string"){
if(!pattern65.test(key25)){
const err170 = {instancePath:instancePath+"/telemetry/headers",schemaPath:"#/properties/telemetry/properties/headers/propertyNames/pattern",keyword:"pattern",params:{pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"},message:"must match pattern \""+"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"+"\"",schema:"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",parentSchema:schema31.properties.telemetry.properties.headers.propertyNames,data:key25,propertyName:key25};
if(vErrors === null){
vErrors = [err170];
}
else {
vErrors.push(err170);
}
errors++;
}
}
var valid88 = _errs220 === errors;
if(!valid88){
const err171 = {instancePath:instancePath+"/telemetry/headers",schemaPath:"#/properties/telemetry/properties/headers/propertyNames",keyword:"propertyNames",params:{propertyName: key25},message:"property name must be valid",schema:schema31.properties.telemetry.properties.headers.propertyNames,parentSchema:schema31.properties.telemetry.properties.headers,data:data76};
if(vErrors === null){
vErrors = [err171];
}
else {
vErrors.push(err171);
}
errors++;
}
}
for(const key26 in data76){
let data77 = data76[key26];
if(typeof data77 === "string"){
if(func2(data77) < 1){
const err172 = {instancePath:instancePath+"/telemetry/headers/" + key26.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/text/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema34,data:data77};
if(vErrors === null){
vErrors = [err172];
}
else {
vErrors.push(err172);
}
errors++;
}
}
else {
const err173 = {instancePath:instancePath+"/telemetry/headers/" + key26.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/text/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema34.type,parentSchema:schema34,data:data77};
if(vErrors === null){
vErrors = [err173];
}
else {
vErrors.push(err173);
}
errors++;
}
}
}
else {
const err174 = {instancePath:instancePath+"/telemetry/headers",schemaPath:"#/properties/telemetry/properties/headers/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.telemetry.properties.headers.type,parentSchema:schema31.properties.telemetry.properties.headers,data:data76};
if(vErrors === null){
vErrors = [err174];
}
else {
vErrors.push(err174);
}
errors++;
}
}
}
else {
const err175 = {instancePath:instancePath+"/telemetry",schemaPath:"#/properties/telemetry/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.properties.telemetry.type,parentSchema:schema31.properties.telemetry,data:data72};
if(vErrors === null){
vErrors = [err175];
}
else {
vErrors.push(err175);
}
errors++;
}
}
if(data.routes !== undefined){
let data78 = data.routes;
if(Array.isArray(data78)){
if(data78.length < 1){
const err176 = {instancePath:instancePath+"/routes",schemaPath:"#/properties/routes/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema31.properties.routes,data:data78};
if(vErrors === null){
vErrors = [err176];
}
else {
vErrors.push(err176);
}
errors++;
}
const len9 = data78.length;
for(let i18=0; i18<len9; i18++){
if(!(validate44(data78[i18], {instancePath:instancePath+"/routes/" + i18,parentData:data78,parentDataProperty:i18,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate44.errors : vErrors.concat(validate44.errors);
errors = vErrors.length;
}
}
}
else {
const err177 = {instancePath:instancePath+"/routes",schemaPath:"#/properties/routes/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema31.properties.routes.type,parentSchema:schema31.properties.routes,data:data78};
if(vErrors === null){
vErrors = [err177];
}
else {
vErrors.push(err177);
}
errors++;
}
}
}
else {
const err178 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema31.type,parentSchema:schema31,data};
if(vErrors === null){
vErrors = [err178];
}
else {
vErrors.push(err178);
}
errors++;
}
validate20.errors = vErrors;
return errors === 0;
}
validate20.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const policy = validate59;
const schema148 = {"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Sallyport policy","description":"A file policies/NAME.yaml: the callers that may use a route and, for MCP, what they may call. Every condition must hold. `{}` accepts any valid token; an empty file is an error.","type":"object","properties":{"scope":{"$ref":"#/$defs/scope"},"claims":{"$ref":"#/$defs/claims"},"any":{"$ref":"#/$defs/any"},"all":{"$ref":"#/$defs/all"},"not":{"$ref":"#/$defs/not"},"max_lifetime":{"$ref":"#/$defs/max_lifetime"},"because":{"$ref":"#/$defs/because"},"mode":{"description":"`enforce` (the default) denies. `shadow` decides, logs and counts, but lets the request pass.","enum":["enforce","shadow"]},"tools":{"description":"For MCP routes: the tools that may be called, by name, each with conditions in addition to those above. `*` in a name stands for any run of characters. An exact name has priority over a pattern, a longer pattern over a shorter one. As soon as a policy has `tools`, `resources`, `prompts` or `methods`, even empty, whatever is not listed is denied.","type":"object","propertyNames":{"minLength":1},"additionalProperties":{"$ref":"#/$defs/call"},"examples":[{"get_*":{},"transfer_funds":{"scope":"payments","arguments":{"/amount":{"at_most":1000}}}}]},"resources":{"description":"For MCP routes: the resources that may be read and subscribed to, by URI. `*` stands for any run of characters within a segment of the path, `**` for any run. An exact URI has priority over a pattern, a longer pattern over a shorter one. Patterns cover only URIs in their canonical spelling: no dot segments, no needless encoding, scheme and host in lower case. Templates are listed here too, as `prices://{symbol}` or under a pattern.","type":"object","propertyNames":{"minLength":1},"additionalProperties":{"$ref":"#/$defs/listed"},"examples":[{"prices://*":{},"reports://**":{"scope":"reports"}}]},"prompts":{"description":"For MCP routes: the prompts that may be fetched, by name, as in `tools`.","type":"object","propertyNames":{"minLength":1},"additionalProperties":{"$ref":"#/$defs/call"},"examples":[{"summary_*":{}}]},"methods":{"description":"For MCP routes: other methods that may be called, by name or pattern. Protocol housekeeping (initialize, ping, lists, notifications, operations on one task …) need not be listed. No pattern covers `tasks/list`, or an unknown method that ends in `/list`, only the exact name; the gateway removes all tasks from the answer to `tasks/list`. Conditions here are in addition to all others for a request with this method, including housekeeping and tool calls.","type":"object","propertyNames":{"minLength":1},"additionalProperties":{"$ref":"#/$defs/listed"},"examples":[{"completion/complete":{},"logging/setLevel":{"scope":"admin"}}]},"lists":{"description":"`filter` hides from lists what this caller could never call. An entry for which the caller only lacks a scope stays visible, so that a client can request the scope. `show` leaves lists as they are. Default: filter if the policy has `tools`, `resources` or `prompts`.","enum":["filter","show"]},"lock":{"description":"For MCP routes: compares the server's tools, prompts and instructions with `NAME.lock.yaml`, which `sallyport lock` writes. `deny` hides and refuses what has changed, is new, or stands twice. `report` only logs and counts it. Such a policy serves one route. See [locked tools](locked-tools.md).","enum":["deny","report"]}},"additionalProperties":false,"$defs":{"policy":{"description":"A nested policy. Every condition in it must hold.","type":"object","properties":{"scope":{"$ref":"#/$defs/scope"},"claims":{"$ref":"#/$defs/claims"},"any":{"$ref":"#/$defs/any"},"all":{"$ref":"#/$defs/all"},"not":{"$ref":"#/$defs/not"},"max_lifetime":{"$ref":"#/$defs/max_lifetime"}},"additionalProperties":false},"call":{"description":"Conditions on calls, in addition to the policy's own. `{}`: no further condition.","type":"object","properties":{"scope":{"$ref":"#/$defs/scope"},"claims":{"$ref":"#/$defs/claims"},"any":{"$ref":"#/$defs/any"},"all":{"$ref":"#/$defs/all"},"not":{"$ref":"#/$defs/not"},"max_lifetime":{"$ref":"#/$defs/max_lifetime"},"because":{"$ref":"#/$defs/because"},"arguments":{"$ref":"#/$defs/arguments"},"after":{"$ref":"#/$defs/after"},"never_after":{"$ref":"#/$defs/never_after"},"quota":{"$ref":"#/$defs/quota"}},"additionalProperties":false},"listed":{"description":"Conditions in addition to the policy's own. `{}`: no further condition.","type":"object","properties":{"scope":{"$ref":"#/$defs/scope"},"claims":{"$ref":"#/$defs/claims"},"any":{"$ref":"#/$defs/any"},"all":{"$ref":"#/$defs/all"},"not":{"$ref":"#/$defs/not"},"max_lifetime":{"$ref":"#/$defs/max_lifetime"},"because":{"$ref":"#/$defs/because"},"after":{"$ref":"#/$defs/after"},"never_after":{"$ref":"#/$defs/never_after"},"quota":{"$ref":"#/$defs/quota"}},"additionalProperties":false},"after":{"description":"An earlier call that must have been answered without an error: of one of these tools, on the same route, by the same owner.","type":"object","properties":{"tool":{"$ref":"#/$defs/earlier_tool"},"within":{"description":"How long ago the earlier call may have begun, as 30s, 5m, 1h or 7d.","$ref":"#/$defs/window"},"same":{"$ref":"#/$defs/same"},"by":{"$ref":"#/$defs/by"}},"required":["tool","within"],"additionalProperties":false,"examples":[{"tool":"approve","within":"1h","same":["/claim_id"]}]},"never_after":{"description":"An earlier call that must not have been made: of one of these tools, on the same route, by the same owner. A call in progress counts, and so does one that got no answer.","type":"object","properties":{"tool":{"$ref":"#/$defs/earlier_tool"},"within":{"description":"How long ago the earlier call may have begun, as 30s, 5m, 1h or 7d.","$ref":"#/$defs/window"},"same":{"$ref":"#/$defs/same"},"by":{"$ref":"#/$defs/by"}},"required":["tool","within"],"additionalProperties":false,"examples":[{"tool":["read_secret","export_*"],"within":"1d"}]},"earlier_tool":{"description":"The tools of the earlier call, by name or pattern. `tools` must list each name.","type":["string","array"],"minLength":1,"items":{"type":"string","minLength":1},"minItems":1},"same":{"description":"Arguments that both calls must have alike, by JSON Pointer (RFC 6901): strings, numbers or booleans. An argument that is absent or null is never the same. Only for tools and prompts.","type":"array","items":{"title":"a JSON Pointer, which begins with /","type":"string","pattern":"^/"},"minItems":1,"uniqueItems":true},"quota":{"description":"How much each owner may use within a sliding time. A call that would exceed a quota is refused and uses up nothing. All calls that this entry decides share its quotas: under a pattern, the calls of all tools that it covers.","type":"array","minItems":1,"items":{"$ref":"#/$defs/limit"},"examples":[[{"count":20,"per":"1h"},{"sum":"/amount","at_most":5000,"per":"1d","by":"tenant"}]]},"limit":{"description":"A number of calls, `count`, or the sum of an argument, `sum` with `at_most`.","type":"object","properties":{"count":{"description":"The most calls.","type":"integer","minimum":1},"sum":{"description":"The argument to sum, by JSON Pointer (RFC 6901): a finite JSON number that is not negative. Any other value is refused, and so is one above `at_most`. Only for tools and prompts.","title":"a JSON Pointer, which begins with /","type":"string","pattern":"^/"},"at_most":{"description":"The most that the argument may sum up to, with at most 6 decimal places. Amounts are rounded up to the last of them.","type":"number","exclusiveMinimum":0},"integer":{"description":"With `sum`: the argument is an integer, or a string of decimal digits.","const":true},"per":{"description":"The sliding time, as 30s, 5m, 1h or 7d.","$ref":"#/$defs/window"},"by":{"$ref":"#/$defs/by"}},"required":["per"],"additionalProperties":false},"window":{"title":"a duration such as 30s, 5m, 1h or 7d","type":"string","pattern":"^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$"},"by":{"description":"Whose calls are counted together: `subject` (the default), `client`, `everyone`, or the value of a claim, by name or by JSON Pointer. Subjects, clients and values of claims are those of one issuer. A caller without it is refused.","type":"string","minLength":1,"examples":["client","tenant"]},"arguments":{"description":"Required arguments of the call, by JSON Pointer (RFC 6901) into `params.arguments`; values as under `claims`. A call that fails on an argument is refused whatever its scopes are.","type":"object","minProperties":1,"propertyNames":{"title":"a JSON Pointer, which begins with /","pattern":"^/"},"additionalProperties":{"$ref":"#/$defs/value"},"examples":[{"/amount":{"at_most":1000},"/currency":["EUR","SEK"]}]},"scope":{"description":"The scopes that the token must all have: one, several separated by single spaces, or a list. If only scopes are missing, the challenge names all scopes that the operation needs.","type":["string","array"],"pattern":"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$","items":{"type":"string","pattern":"^[!#-\\[\\]-~]+$"},"minItems":1,"examples":["read","read write",["read","write"]]},"claims":{"description":"Required claims of the token, by name or, beginning with /, by JSON Pointer (RFC 6901). A value means equals, a list one of, a mapping of predicates all of them. A call that fails on a claim is refused whatever its scopes are.","type":"object","minProperties":1,"propertyNames":{"minLength":1},"additionalProperties":{"$ref":"#/$defs/value"},"examples":[{"tenant":"acme","country":["SE","NO"],"risk":{"integer":true,"below":50}}]},"any":{"description":"Alternatives: at least one of these policies must hold. If none does, the challenge is that of the first one that lacks only scopes.","type":"array","minItems":1,"items":{"$ref":"#/$defs/policy"}},"all":{"description":"Policies that must all hold. Use it to combine several `any` or `not`.","type":"array","minItems":1,"items":{"$ref":"#/$defs/policy"}},"not":{"description":"A policy that must not hold. It does not hold if any of its conditions fails, so a missing scope or claim passes.","$ref":"#/$defs/policy"},"max_lifetime":{"description":"Accepts only tokens whose exp - iat is at most this, as 500ms, 30s, 5m or 1h. A token without exp or iat is refused.","type":"string","pattern":"^[1-9][0-9]{0,8}(ms|s|m|h)$","examples":["60s","5m"]},"because":{"description":"What the client gets to read when the policy refuses a caller here and no new token would help: for claims, arguments, rules over time, what is not listed and what differs from a lock. An entry without it has the policy's. One line of plain text, for people and for AI models; every caller that is refused here can read it.","title":"one line of at most 500 characters, without control characters or invisible ones","type":"string","maxLength":500,"pattern":"^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$","examples":["For more than 1000 use request_transfer."]},"scalar":{"type":["string","number","boolean"]},"value":{"description":"A value (equals), a list (one of), or predicates that must all hold. Types are never converted: 1 is not \"1\". A missing claim fails every condition except `present: false` and `not`.","type":["string","number","boolean","array","object"],"items":{"$ref":"#/$defs/scalar"},"minItems":1,"minProperties":1,"properties":{"equals":{"description":"Exactly this value, of the same type.","$ref":"#/$defs/scalar"},"one_of":{"description":"Exactly one of these values, of the same type.","type":"array","minItems":1,"items":{"$ref":"#/$defs/scalar"}},"contains":{"description":"The claim is an array, and this is one of its elements. A string never contains anything.","$ref":"#/$defs/scalar"},"below":{"description":"A finite number less than this. A string is not a number, unless `integer: true` parses it.","type":"number"},"at_most":{"description":"A finite number less than or equal to this.","type":"number"},"above":{"description":"A finite number greater than this.","type":"number"},"at_least":{"description":"A finite number greater than or equal to this.","type":"number"},"matches":{"description":"A string that contains a match of this regular expression (JavaScript, u flag); anchor it with ^ and $. A string of more than 4096 characters is an error, and denied. A pattern that can be slow on some text is refused at load.","type":"string","minLength":1,"examples":["^ops-","@acme\\.example$"]},"present":{"description":"true: the claim exists and is not null. false: it is missing or null.","type":"boolean"},"not":{"description":"The opposite: a value, a list or predicates that must not hold. A missing claim passes; a value of the wrong type is refused, as `\"5000\"` is by `not: { above: 1000 }`.","$ref":"#/$defs/value"},"integer":{"description":"The claim is an integer, or a string of an optional - and decimal digits, within ±(2^53 - 1). The other predicates of the mapping, also under `not`, compare that integer.","const":true}},"additionalProperties":false}}};
const schema149 = {"description":"The scopes that the token must all have: one, several separated by single spaces, or a list. If only scopes are missing, the challenge names all scopes that the operation needs.","type":["string","array"],"pattern":"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$","items":{"type":"string","pattern":"^[!#-\\[\\]-~]+$"},"minItems":1,"examples":["read","read write",["read","write"]]};
const schema160 = {"description":"Accepts only tokens whose exp - iat is at most this, as 500ms, 30s, 5m or 1h. A token without exp or iat is refused.","type":"string","pattern":"^[1-9][0-9]{0,8}(ms|s|m|h)$","examples":["60s","5m"]};
const schema162 = {"description":"What the client gets to read when the policy refuses a caller here and no new token would help: for claims, arguments, rules over time, what is not listed and what differs from a lock. An entry without it has the policy's. One line of plain text, for people and for AI models; every caller that is refused here can read it.","title":"one line of at most 500 characters, without control characters or invisible ones","type":"string","maxLength":500,"pattern":"^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$","examples":["For more than 1000 use request_transfer."]};
const pattern97 = new RegExp("^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$", "u");
const pattern98 = new RegExp("^[!#-\\[\\]-~]+$", "u");
const pattern101 = new RegExp("^[1-9][0-9]{0,8}(ms|s|m|h)$", "u");
const pattern103 = new RegExp("^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$", "u");
const schema150 = {"description":"Required claims of the token, by name or, beginning with /, by JSON Pointer (RFC 6901). A value means equals, a list one of, a mapping of predicates all of them. A call that fails on a claim is refused whatever its scopes are.","type":"object","minProperties":1,"propertyNames":{"minLength":1},"additionalProperties":{"$ref":"#/$defs/value"},"examples":[{"tenant":"acme","country":["SE","NO"],"risk":{"integer":true,"below":50}}]};
const schema151 = {"description":"A value (equals), a list (one of), or predicates that must all hold. Types are never converted: 1 is not \"1\". A missing claim fails every condition except `present: false` and `not`.","type":["string","number","boolean","array","object"],"items":{"$ref":"#/$defs/scalar"},"minItems":1,"minProperties":1,"properties":{"equals":{"description":"Exactly this value, of the same type.","$ref":"#/$defs/scalar"},"one_of":{"description":"Exactly one of these values, of the same type.","type":"array","minItems":1,"items":{"$ref":"#/$defs/scalar"}},"contains":{"description":"The claim is an array, and this is one of its elements. A string never contains anything.","$ref":"#/$defs/scalar"},"below":{"description":"A finite number less than this. A string is not a number, unless `integer: true` parses it.","type":"number"},"at_most":{"description":"A finite number less than or equal to this.","type":"number"},"above":{"description":"A finite number greater than this.","type":"number"},"at_least":{"description":"A finite number greater than or equal to this.","type":"number"},"matches":{"description":"A string that contains a match of this regular expression (JavaScript, u flag); anchor it with ^ and $. A string of more than 4096 characters is an error, and denied. A pattern that can be slow on some text is refused at load.","type":"string","minLength":1,"examples":["^ops-","@acme\\.example$"]},"present":{"description":"true: the claim exists and is not null. false: it is missing or null.","type":"boolean"},"not":{"description":"The opposite: a value, a list or predicates that must not hold. A missing claim passes; a value of the wrong type is refused, as `\"5000\"` is by `not: { above: 1000 }`.","$ref":"#/$defs/value"},"integer":{"description":"The claim is an integer, or a string of an optional - and decimal digits, within ±(2^53 - 1). The other predicates of the mapping, also under `not`, compare that integer.","const":true}},"additionalProperties":false};
const schema152 = {"type":["string","number","boolean"]};
const wrapper0 = {validate: validate61};

function validate61(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate61.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if((((!data || typeof data != "object") && (typeof data !== "string")) && (!((typeof data == "number") && (isFinite(data))))) && (typeof data !== "boolean")){
const err0 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: schema151.type},message:"must be string,number,boolean,array,object",schema:schema151.type,parentSchema:schema151,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(Array.isArray(data)){
if(data.length < 1){
const err1 = {instancePath,schemaPath:"#/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema151,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
let data0 = data[i0];
if(((typeof data0 !== "string") && (!((typeof data0 == "number") && (isFinite(data0))))) && (typeof data0 !== "boolean")){
const err2 = {instancePath:instancePath+"/" + i0,schemaPath:"#/$defs/scalar/type",keyword:"type",params:{type: schema152.type},message:"must be string,number,boolean",schema:schema152.type,parentSchema:schema152,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(Object.keys(data).length < 1){
const err3 = {instancePath,schemaPath:"#/minProperties",keyword:"minProperties",params:{limit: 1},message:"must NOT have fewer than 1 properties",schema:1,parentSchema:schema151,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
for(const key0 in data){
if(!(func1.call(schema151.properties, key0))){
const err4 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema151,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.equals !== undefined){
let data1 = data.equals;
if(((typeof data1 !== "string") && (!((typeof data1 == "number") && (isFinite(data1))))) && (typeof data1 !== "boolean")){
const err5 = {instancePath:instancePath+"/equals",schemaPath:"#/$defs/scalar/type",keyword:"type",params:{type: schema152.type},message:"must be string,number,boolean",schema:schema152.type,parentSchema:schema152,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.one_of !== undefined){
let data2 = data.one_of;
if(Array.isArray(data2)){
if(data2.length < 1){
const err6 = {instancePath:instancePath+"/one_of",schemaPath:"#/properties/one_of/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema151.properties.one_of,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
const len1 = data2.length;
for(let i1=0; i1<len1; i1++){
let data3 = data2[i1];
if(((typeof data3 !== "string") && (!((typeof data3 == "number") && (isFinite(data3))))) && (typeof data3 !== "boolean")){
const err7 = {instancePath:instancePath+"/one_of/" + i1,schemaPath:"#/$defs/scalar/type",keyword:"type",params:{type: schema152.type},message:"must be string,number,boolean",schema:schema152.type,parentSchema:schema152,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
else {
const err8 = {instancePath:instancePath+"/one_of",schemaPath:"#/properties/one_of/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema151.properties.one_of.type,parentSchema:schema151.properties.one_of,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.contains !== undefined){
let data4 = data.contains;
if(((typeof data4 !== "string") && (!((typeof data4 == "number") && (isFinite(data4))))) && (typeof data4 !== "boolean")){
const err9 = {instancePath:instancePath+"/contains",schemaPath:"#/$defs/scalar/type",keyword:"type",params:{type: schema152.type},message:"must be string,number,boolean",schema:schema152.type,parentSchema:schema152,data:data4};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.below !== undefined){
let data5 = data.below;
if(!((typeof data5 == "number") && (isFinite(data5)))){
const err10 = {instancePath:instancePath+"/below",schemaPath:"#/properties/below/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema151.properties.below.type,parentSchema:schema151.properties.below,data:data5};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data.at_most !== undefined){
let data6 = data.at_most;
if(!((typeof data6 == "number") && (isFinite(data6)))){
const err11 = {instancePath:instancePath+"/at_most",schemaPath:"#/properties/at_most/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema151.properties.at_most.type,parentSchema:schema151.properties.at_most,data:data6};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data.above !== undefined){
let data7 = data.above;
if(!((typeof data7 == "number") && (isFinite(data7)))){
const err12 = {instancePath:instancePath+"/above",schemaPath:"#/properties/above/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema151.properties.above.type,parentSchema:schema151.properties.above,data:data7};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data.at_least !== undefined){
let data8 = data.at_least;
if(!((typeof data8 == "number") && (isFinite(data8)))){
const err13 = {instancePath:instancePath+"/at_least",schemaPath:"#/properties/at_least/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema151.properties.at_least.type,parentSchema:schema151.properties.at_least,data:data8};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
if(data.matches !== undefined){
let data9 = data.matches;
if(typeof data9 === "string"){
if(func2(data9) < 1){
const err14 = {instancePath:instancePath+"/matches",schemaPath:"#/properties/matches/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema151.properties.matches,data:data9};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
else {
const err15 = {instancePath:instancePath+"/matches",schemaPath:"#/properties/matches/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema151.properties.matches.type,parentSchema:schema151.properties.matches,data:data9};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
if(data.present !== undefined){
let data10 = data.present;
if(typeof data10 !== "boolean"){
const err16 = {instancePath:instancePath+"/present",schemaPath:"#/properties/present/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema151.properties.present.type,parentSchema:schema151.properties.present,data:data10};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
if(data.not !== undefined){
if(!(wrapper0.validate(data.not, {instancePath:instancePath+"/not",parentData:data,parentDataProperty:"not",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? wrapper0.validate.errors : vErrors.concat(wrapper0.validate.errors);
errors = vErrors.length;
}
}
if(data.integer !== undefined){
let data12 = data.integer;
if(true !== data12){
const err17 = {instancePath:instancePath+"/integer",schemaPath:"#/properties/integer/const",keyword:"const",params:{allowedValue: true},message:"must be equal to constant",schema:true,parentSchema:schema151.properties.integer,data:data12};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
}
validate61.errors = vErrors;
return errors === 0;
}
validate61.evaluated = {"props":true,"items":true,"dynamicProps":false,"dynamicItems":false};


function validate60(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate60.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(Object.keys(data).length < 1){
const err0 = {instancePath,schemaPath:"#/minProperties",keyword:"minProperties",params:{limit: 1},message:"must NOT have fewer than 1 properties",schema:1,parentSchema:schema150,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
const _errs1 = errors;
if(typeof key0 === "string"){
if(func2(key0) < 1){
const err1 = {instancePath,schemaPath:"#/propertyNames/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema150.propertyNames,data:key0,propertyName:key0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
var valid0 = _errs1 === errors;
if(!valid0){
const err2 = {instancePath,schemaPath:"#/propertyNames",keyword:"propertyNames",params:{propertyName: key0},message:"property name must be valid",schema:schema150.propertyNames,parentSchema:schema150,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
for(const key1 in data){
if(!(validate61(data[key1], {instancePath:instancePath+"/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data,parentDataProperty:key1,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate61.errors : vErrors.concat(validate61.errors);
errors = vErrors.length;
}
}
}
else {
const err3 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema150.type,parentSchema:schema150,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
validate60.errors = vErrors;
return errors === 0;
}
validate60.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema156 = {"description":"Alternatives: at least one of these policies must hold. If none does, the challenge is that of the first one that lacks only scopes.","type":"array","minItems":1,"items":{"$ref":"#/$defs/policy"}};
const schema157 = {"description":"A nested policy. Every condition in it must hold.","type":"object","properties":{"scope":{"$ref":"#/$defs/scope"},"claims":{"$ref":"#/$defs/claims"},"any":{"$ref":"#/$defs/any"},"all":{"$ref":"#/$defs/all"},"not":{"$ref":"#/$defs/not"},"max_lifetime":{"$ref":"#/$defs/max_lifetime"}},"additionalProperties":false};
const schema159 = {"description":"Policies that must all hold. Use it to combine several `any` or `not`.","type":"array","minItems":1,"items":{"$ref":"#/$defs/policy"}};
const wrapper2 = {validate: validate65};

function validate67(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate67.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(Array.isArray(data)){
if(data.length < 1){
const err0 = {instancePath,schemaPath:"#/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema159,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
if(!(wrapper2.validate(data[i0], {instancePath:instancePath+"/" + i0,parentData:data,parentDataProperty:i0,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? wrapper2.validate.errors : vErrors.concat(wrapper2.validate.errors);
errors = vErrors.length;
}
}
}
else {
const err1 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema159.type,parentSchema:schema159,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
validate67.errors = vErrors;
return errors === 0;
}
validate67.evaluated = {"items":true,"dynamicProps":false,"dynamicItems":false};

const wrapper1 = {validate: validate64};

function validate65(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate65.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((((key0 === "scope") || (key0 === "claims")) || (key0 === "any")) || (key0 === "all")) || (key0 === "not")) || (key0 === "max_lifetime"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema157,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.scope !== undefined){
let data0 = data.scope;
if((typeof data0 !== "string") && (!(Array.isArray(data0)))){
const err1 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/type",keyword:"type",params:{type: schema149.type},message:"must be string,array",schema:schema149.type,parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(typeof data0 === "string"){
if(!pattern97.test(data0)){
const err2 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"+"\"",schema:"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$",parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(Array.isArray(data0)){
if(data0.length < 1){
const err3 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(!pattern98.test(data1)){
const err4 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/$defs/scope/items/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+$"+"\"",schema:"^[!#-\\[\\]-~]+$",parentSchema:schema149.items,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/$defs/scope/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema149.items.type,parentSchema:schema149.items,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
}
if(data.claims !== undefined){
if(!(validate60(data.claims, {instancePath:instancePath+"/claims",parentData:data,parentDataProperty:"claims",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate60.errors : vErrors.concat(validate60.errors);
errors = vErrors.length;
}
}
if(data.any !== undefined){
if(!(wrapper1.validate(data.any, {instancePath:instancePath+"/any",parentData:data,parentDataProperty:"any",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? wrapper1.validate.errors : vErrors.concat(wrapper1.validate.errors);
errors = vErrors.length;
}
}
if(data.all !== undefined){
if(!(validate67(data.all, {instancePath:instancePath+"/all",parentData:data,parentDataProperty:"all",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate67.errors : vErrors.concat(validate67.errors);
errors = vErrors.length;
}
}
if(data.not !== undefined){
if(!(wrapper2.validate(data.not, {instancePath:instancePath+"/not",parentData:data,parentDataProperty:"not",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? wrapper2.validate.errors : vErrors.concat(wrapper2.validate.errors);
errors = vErrors.length;
}
}
if(data.max_lifetime !== undefined){
let data6 = data.max_lifetime;
if(typeof data6 === "string"){
if(!pattern101.test(data6)){
const err6 = {instancePath:instancePath+"/max_lifetime",schemaPath:"#/$defs/max_lifetime/pattern",keyword:"pattern",params:{pattern: "^[1-9][0-9]{0,8}(ms|s|m|h)$"},message:"must match pattern \""+"^[1-9][0-9]{0,8}(ms|s|m|h)$"+"\"",schema:"^[1-9][0-9]{0,8}(ms|s|m|h)$",parentSchema:schema160,data:data6};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/max_lifetime",schemaPath:"#/$defs/max_lifetime/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema160.type,parentSchema:schema160,data:data6};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
else {
const err8 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema157.type,parentSchema:schema157,data};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
validate65.errors = vErrors;
return errors === 0;
}
validate65.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate64(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate64.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(Array.isArray(data)){
if(data.length < 1){
const err0 = {instancePath,schemaPath:"#/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema156,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
if(!(validate65(data[i0], {instancePath:instancePath+"/" + i0,parentData:data,parentDataProperty:i0,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate65.errors : vErrors.concat(validate65.errors);
errors = vErrors.length;
}
}
}
else {
const err1 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema156.type,parentSchema:schema156,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
validate64.errors = vErrors;
return errors === 0;
}
validate64.evaluated = {"items":true,"dynamicProps":false,"dynamicItems":false};

const schema163 = {"description":"Conditions on calls, in addition to the policy's own. `{}`: no further condition.","type":"object","properties":{"scope":{"$ref":"#/$defs/scope"},"claims":{"$ref":"#/$defs/claims"},"any":{"$ref":"#/$defs/any"},"all":{"$ref":"#/$defs/all"},"not":{"$ref":"#/$defs/not"},"max_lifetime":{"$ref":"#/$defs/max_lifetime"},"because":{"$ref":"#/$defs/because"},"arguments":{"$ref":"#/$defs/arguments"},"after":{"$ref":"#/$defs/after"},"never_after":{"$ref":"#/$defs/never_after"},"quota":{"$ref":"#/$defs/quota"}},"additionalProperties":false};
const schema167 = {"description":"Required arguments of the call, by JSON Pointer (RFC 6901) into `params.arguments`; values as under `claims`. A call that fails on an argument is refused whatever its scopes are.","type":"object","minProperties":1,"propertyNames":{"title":"a JSON Pointer, which begins with /","pattern":"^/"},"additionalProperties":{"$ref":"#/$defs/value"},"examples":[{"/amount":{"at_most":1000},"/currency":["EUR","SEK"]}]};
const pattern108 = new RegExp("^/", "u");

function validate78(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate78.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(Object.keys(data).length < 1){
const err0 = {instancePath,schemaPath:"#/minProperties",keyword:"minProperties",params:{limit: 1},message:"must NOT have fewer than 1 properties",schema:1,parentSchema:schema167,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
const _errs1 = errors;
if(typeof key0 === "string"){
if(!pattern108.test(key0)){
const err1 = {instancePath,schemaPath:"#/propertyNames/pattern",keyword:"pattern",params:{pattern: "^/"},message:"must match pattern \""+"^/"+"\"",schema:"^/",parentSchema:schema167.propertyNames,data:key0,propertyName:key0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
var valid0 = _errs1 === errors;
if(!valid0){
const err2 = {instancePath,schemaPath:"#/propertyNames",keyword:"propertyNames",params:{propertyName: key0},message:"property name must be valid",schema:schema167.propertyNames,parentSchema:schema167,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
for(const key1 in data){
if(!(validate61(data[key1], {instancePath:instancePath+"/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data,parentDataProperty:key1,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate61.errors : vErrors.concat(validate61.errors);
errors = vErrors.length;
}
}
}
else {
const err3 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema167.type,parentSchema:schema167,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
validate78.errors = vErrors;
return errors === 0;
}
validate78.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema168 = {"description":"An earlier call that must have been answered without an error: of one of these tools, on the same route, by the same owner.","type":"object","properties":{"tool":{"$ref":"#/$defs/earlier_tool"},"within":{"description":"How long ago the earlier call may have begun, as 30s, 5m, 1h or 7d.","$ref":"#/$defs/window"},"same":{"$ref":"#/$defs/same"},"by":{"$ref":"#/$defs/by"}},"required":["tool","within"],"additionalProperties":false,"examples":[{"tool":"approve","within":"1h","same":["/claim_id"]}]};
const schema169 = {"description":"The tools of the earlier call, by name or pattern. `tools` must list each name.","type":["string","array"],"minLength":1,"items":{"type":"string","minLength":1},"minItems":1};
const schema170 = {"title":"a duration such as 30s, 5m, 1h or 7d","type":"string","pattern":"^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$"};
const schema171 = {"description":"Arguments that both calls must have alike, by JSON Pointer (RFC 6901): strings, numbers or booleans. An argument that is absent or null is never the same. Only for tools and prompts.","type":"array","items":{"title":"a JSON Pointer, which begins with /","type":"string","pattern":"^/"},"minItems":1,"uniqueItems":true};
const schema172 = {"description":"Whose calls are counted together: `subject` (the default), `client`, `everyone`, or the value of a claim, by name or by JSON Pointer. Subjects, clients and values of claims are those of one issuer. A caller without it is refused.","type":"string","minLength":1,"examples":["client","tenant"]};
const pattern109 = new RegExp("^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$", "u");

function validate81(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate81.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.tool === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "tool"},message:"must have required property '"+"tool"+"'",schema:schema168.required,parentSchema:schema168,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.within === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "within"},message:"must have required property '"+"within"+"'",schema:schema168.required,parentSchema:schema168,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!((((key0 === "tool") || (key0 === "within")) || (key0 === "same")) || (key0 === "by"))){
const err2 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema168,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.tool !== undefined){
let data0 = data.tool;
if((typeof data0 !== "string") && (!(Array.isArray(data0)))){
const err3 = {instancePath:instancePath+"/tool",schemaPath:"#/$defs/earlier_tool/type",keyword:"type",params:{type: schema169.type},message:"must be string,array",schema:schema169.type,parentSchema:schema169,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(typeof data0 === "string"){
if(func2(data0) < 1){
const err4 = {instancePath:instancePath+"/tool",schemaPath:"#/$defs/earlier_tool/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema169,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(Array.isArray(data0)){
if(data0.length < 1){
const err5 = {instancePath:instancePath+"/tool",schemaPath:"#/$defs/earlier_tool/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema169,data:data0};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(func2(data1) < 1){
const err6 = {instancePath:instancePath+"/tool/" + i0,schemaPath:"#/$defs/earlier_tool/items/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema169.items,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/tool/" + i0,schemaPath:"#/$defs/earlier_tool/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema169.items.type,parentSchema:schema169.items,data:data1};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
}
if(data.within !== undefined){
let data2 = data.within;
if(typeof data2 === "string"){
if(!pattern109.test(data2)){
const err8 = {instancePath:instancePath+"/within",schemaPath:"#/$defs/window/pattern",keyword:"pattern",params:{pattern: "^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$"},message:"must match pattern \""+"^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$"+"\"",schema:"^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$",parentSchema:schema170,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
else {
const err9 = {instancePath:instancePath+"/within",schemaPath:"#/$defs/window/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema170.type,parentSchema:schema170,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.same !== undefined){
let data3 = data.same;
if(Array.isArray(data3)){
if(data3.length < 1){
const err10 = {instancePath:instancePath+"/same",schemaPath:"#/$defs/same/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema171,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
const len1 = data3.length;
for(let i1=0; i1<len1; i1++){
let data4 = data3[i1];
if(typeof data4 === "string"){
if(!pattern108.test(data4)){
const err11 = {instancePath:instancePath+"/same/" + i1,schemaPath:"#/$defs/same/items/pattern",keyword:"pattern",params:{pattern: "^/"},message:"must match pattern \""+"^/"+"\"",schema:"^/",parentSchema:schema171.items,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
else {
const err12 = {instancePath:instancePath+"/same/" + i1,schemaPath:"#/$defs/same/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema171.items.type,parentSchema:schema171.items,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
let i2 = data3.length;
let j0;
if(i2 > 1){
const indices0 = {};
for(;i2--;){
let item0 = data3[i2];
if(typeof item0 !== "string"){
continue;
}
if(typeof indices0[item0] == "number"){
j0 = indices0[item0];
const err13 = {instancePath:instancePath+"/same",schemaPath:"#/$defs/same/uniqueItems",keyword:"uniqueItems",params:{i: i2, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i2+" are identical)",schema:true,parentSchema:schema171,data:data3};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
break;
}
indices0[item0] = i2;
}
}
}
else {
const err14 = {instancePath:instancePath+"/same",schemaPath:"#/$defs/same/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema171.type,parentSchema:schema171,data:data3};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data.by !== undefined){
let data5 = data.by;
if(typeof data5 === "string"){
if(func2(data5) < 1){
const err15 = {instancePath:instancePath+"/by",schemaPath:"#/$defs/by/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema172,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
else {
const err16 = {instancePath:instancePath+"/by",schemaPath:"#/$defs/by/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema172.type,parentSchema:schema172,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
}
else {
const err17 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema168.type,parentSchema:schema168,data};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
validate81.errors = vErrors;
return errors === 0;
}
validate81.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema173 = {"description":"An earlier call that must not have been made: of one of these tools, on the same route, by the same owner. A call in progress counts, and so does one that got no answer.","type":"object","properties":{"tool":{"$ref":"#/$defs/earlier_tool"},"within":{"description":"How long ago the earlier call may have begun, as 30s, 5m, 1h or 7d.","$ref":"#/$defs/window"},"same":{"$ref":"#/$defs/same"},"by":{"$ref":"#/$defs/by"}},"required":["tool","within"],"additionalProperties":false,"examples":[{"tool":["read_secret","export_*"],"within":"1d"}]};

function validate83(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate83.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.tool === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "tool"},message:"must have required property '"+"tool"+"'",schema:schema173.required,parentSchema:schema173,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.within === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "within"},message:"must have required property '"+"within"+"'",schema:schema173.required,parentSchema:schema173,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!((((key0 === "tool") || (key0 === "within")) || (key0 === "same")) || (key0 === "by"))){
const err2 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema173,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.tool !== undefined){
let data0 = data.tool;
if((typeof data0 !== "string") && (!(Array.isArray(data0)))){
const err3 = {instancePath:instancePath+"/tool",schemaPath:"#/$defs/earlier_tool/type",keyword:"type",params:{type: schema169.type},message:"must be string,array",schema:schema169.type,parentSchema:schema169,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
if(typeof data0 === "string"){
if(func2(data0) < 1){
const err4 = {instancePath:instancePath+"/tool",schemaPath:"#/$defs/earlier_tool/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema169,data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(Array.isArray(data0)){
if(data0.length < 1){
const err5 = {instancePath:instancePath+"/tool",schemaPath:"#/$defs/earlier_tool/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema169,data:data0};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(func2(data1) < 1){
const err6 = {instancePath:instancePath+"/tool/" + i0,schemaPath:"#/$defs/earlier_tool/items/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema169.items,data:data1};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/tool/" + i0,schemaPath:"#/$defs/earlier_tool/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema169.items.type,parentSchema:schema169.items,data:data1};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
}
if(data.within !== undefined){
let data2 = data.within;
if(typeof data2 === "string"){
if(!pattern109.test(data2)){
const err8 = {instancePath:instancePath+"/within",schemaPath:"#/$defs/window/pattern",keyword:"pattern",params:{pattern: "^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$"},message:"must match pattern \""+"^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$"+"\"",schema:"^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$",parentSchema:schema170,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
else {
const err9 = {instancePath:instancePath+"/within",schemaPath:"#/$defs/window/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema170.type,parentSchema:schema170,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.same !== undefined){
let data3 = data.same;
if(Array.isArray(data3)){
if(data3.length < 1){
const err10 = {instancePath:instancePath+"/same",schemaPath:"#/$defs/same/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema171,data:data3};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
const len1 = data3.length;
for(let i1=0; i1<len1; i1++){
let data4 = data3[i1];
if(typeof data4 === "string"){
if(!pattern108.test(data4)){
const err11 = {instancePath:instancePath+"/same/" + i1,schemaPath:"#/$defs/same/items/pattern",keyword:"pattern",params:{pattern: "^/"},message:"must match pattern \""+"^/"+"\"",schema:"^/",parentSchema:schema171.items,data:data4};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
else {
const err12 = {instancePath:instancePath+"/same/" + i1,schemaPath:"#/$defs/same/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema171.items.type,parentSchema:schema171.items,data:data4};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
let i2 = data3.length;
let j0;
if(i2 > 1){
const indices0 = {};
for(;i2--;){
let item0 = data3[i2];
if(typeof item0 !== "string"){
continue;
}
if(typeof indices0[item0] == "number"){
j0 = indices0[item0];
const err13 = {instancePath:instancePath+"/same",schemaPath:"#/$defs/same/uniqueItems",keyword:"uniqueItems",params:{i: i2, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i2+" are identical)",schema:true,parentSchema:schema171,data:data3};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
break;
}
indices0[item0] = i2;
}
}
}
else {
const err14 = {instancePath:instancePath+"/same",schemaPath:"#/$defs/same/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema171.type,parentSchema:schema171,data:data3};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data.by !== undefined){
let data5 = data.by;
if(typeof data5 === "string"){
if(func2(data5) < 1){
const err15 = {instancePath:instancePath+"/by",schemaPath:"#/$defs/by/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema172,data:data5};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
else {
const err16 = {instancePath:instancePath+"/by",schemaPath:"#/$defs/by/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema172.type,parentSchema:schema172,data:data5};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
}
else {
const err17 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema173.type,parentSchema:schema173,data};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
validate83.errors = vErrors;
return errors === 0;
}
validate83.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema178 = {"description":"How much each owner may use within a sliding time. A call that would exceed a quota is refused and uses up nothing. All calls that this entry decides share its quotas: under a pattern, the calls of all tools that it covers.","type":"array","minItems":1,"items":{"$ref":"#/$defs/limit"},"examples":[[{"count":20,"per":"1h"},{"sum":"/amount","at_most":5000,"per":"1d","by":"tenant"}]]};
const schema179 = {"description":"A number of calls, `count`, or the sum of an argument, `sum` with `at_most`.","type":"object","properties":{"count":{"description":"The most calls.","type":"integer","minimum":1},"sum":{"description":"The argument to sum, by JSON Pointer (RFC 6901): a finite JSON number that is not negative. Any other value is refused, and so is one above `at_most`. Only for tools and prompts.","title":"a JSON Pointer, which begins with /","type":"string","pattern":"^/"},"at_most":{"description":"The most that the argument may sum up to, with at most 6 decimal places. Amounts are rounded up to the last of them.","type":"number","exclusiveMinimum":0},"integer":{"description":"With `sum`: the argument is an integer, or a string of decimal digits.","const":true},"per":{"description":"The sliding time, as 30s, 5m, 1h or 7d.","$ref":"#/$defs/window"},"by":{"$ref":"#/$defs/by"}},"required":["per"],"additionalProperties":false};

function validate86(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate86.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.per === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "per"},message:"must have required property '"+"per"+"'",schema:schema179.required,parentSchema:schema179,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
if(!((((((key0 === "count") || (key0 === "sum")) || (key0 === "at_most")) || (key0 === "integer")) || (key0 === "per")) || (key0 === "by"))){
const err1 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema179,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.count !== undefined){
let data0 = data.count;
if(!(((typeof data0 == "number") && (!(data0 % 1) && !isNaN(data0))) && (isFinite(data0)))){
const err2 = {instancePath:instancePath+"/count",schemaPath:"#/properties/count/type",keyword:"type",params:{type: "integer"},message:"must be integer",schema:schema179.properties.count.type,parentSchema:schema179.properties.count,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if((typeof data0 == "number") && (isFinite(data0))){
if(data0 < 1 || isNaN(data0)){
const err3 = {instancePath:instancePath+"/count",schemaPath:"#/properties/count/minimum",keyword:"minimum",params:{comparison: ">=", limit: 1},message:"must be >= 1",schema:1,parentSchema:schema179.properties.count,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
if(data.sum !== undefined){
let data1 = data.sum;
if(typeof data1 === "string"){
if(!pattern108.test(data1)){
const err4 = {instancePath:instancePath+"/sum",schemaPath:"#/properties/sum/pattern",keyword:"pattern",params:{pattern: "^/"},message:"must match pattern \""+"^/"+"\"",schema:"^/",parentSchema:schema179.properties.sum,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/sum",schemaPath:"#/properties/sum/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema179.properties.sum.type,parentSchema:schema179.properties.sum,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.at_most !== undefined){
let data2 = data.at_most;
if((typeof data2 == "number") && (isFinite(data2))){
if(data2 <= 0 || isNaN(data2)){
const err6 = {instancePath:instancePath+"/at_most",schemaPath:"#/properties/at_most/exclusiveMinimum",keyword:"exclusiveMinimum",params:{comparison: ">", limit: 0},message:"must be > 0",schema:0,parentSchema:schema179.properties.at_most,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/at_most",schemaPath:"#/properties/at_most/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema179.properties.at_most.type,parentSchema:schema179.properties.at_most,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.integer !== undefined){
let data3 = data.integer;
if(true !== data3){
const err8 = {instancePath:instancePath+"/integer",schemaPath:"#/properties/integer/const",keyword:"const",params:{allowedValue: true},message:"must be equal to constant",schema:true,parentSchema:schema179.properties.integer,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.per !== undefined){
let data4 = data.per;
if(typeof data4 === "string"){
if(!pattern109.test(data4)){
const err9 = {instancePath:instancePath+"/per",schemaPath:"#/$defs/window/pattern",keyword:"pattern",params:{pattern: "^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$"},message:"must match pattern \""+"^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$"+"\"",schema:"^(?:[1-9][0-9]{0,5}[smh]|[1-9][0-9]{0,2}d)$",parentSchema:schema170,data:data4};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath:instancePath+"/per",schemaPath:"#/$defs/window/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema170.type,parentSchema:schema170,data:data4};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data.by !== undefined){
let data5 = data.by;
if(typeof data5 === "string"){
if(func2(data5) < 1){
const err11 = {instancePath:instancePath+"/by",schemaPath:"#/$defs/by/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema172,data:data5};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
else {
const err12 = {instancePath:instancePath+"/by",schemaPath:"#/$defs/by/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema172.type,parentSchema:schema172,data:data5};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema179.type,parentSchema:schema179,data};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
validate86.errors = vErrors;
return errors === 0;
}
validate86.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate85(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate85.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(Array.isArray(data)){
if(data.length < 1){
const err0 = {instancePath,schemaPath:"#/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema178,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
if(!(validate86(data[i0], {instancePath:instancePath+"/" + i0,parentData:data,parentDataProperty:i0,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate86.errors : vErrors.concat(validate86.errors);
errors = vErrors.length;
}
}
}
else {
const err1 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema178.type,parentSchema:schema178,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
validate85.errors = vErrors;
return errors === 0;
}
validate85.evaluated = {"items":true,"dynamicProps":false,"dynamicItems":false};


function validate73(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate73.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(func1.call(schema163.properties, key0))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema163,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.scope !== undefined){
let data0 = data.scope;
if((typeof data0 !== "string") && (!(Array.isArray(data0)))){
const err1 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/type",keyword:"type",params:{type: schema149.type},message:"must be string,array",schema:schema149.type,parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(typeof data0 === "string"){
if(!pattern97.test(data0)){
const err2 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"+"\"",schema:"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$",parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(Array.isArray(data0)){
if(data0.length < 1){
const err3 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(!pattern98.test(data1)){
const err4 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/$defs/scope/items/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+$"+"\"",schema:"^[!#-\\[\\]-~]+$",parentSchema:schema149.items,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/$defs/scope/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema149.items.type,parentSchema:schema149.items,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
}
if(data.claims !== undefined){
if(!(validate60(data.claims, {instancePath:instancePath+"/claims",parentData:data,parentDataProperty:"claims",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate60.errors : vErrors.concat(validate60.errors);
errors = vErrors.length;
}
}
if(data.any !== undefined){
if(!(validate64(data.any, {instancePath:instancePath+"/any",parentData:data,parentDataProperty:"any",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate64.errors : vErrors.concat(validate64.errors);
errors = vErrors.length;
}
}
if(data.all !== undefined){
if(!(validate67(data.all, {instancePath:instancePath+"/all",parentData:data,parentDataProperty:"all",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate67.errors : vErrors.concat(validate67.errors);
errors = vErrors.length;
}
}
if(data.not !== undefined){
if(!(validate65(data.not, {instancePath:instancePath+"/not",parentData:data,parentDataProperty:"not",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate65.errors : vErrors.concat(validate65.errors);
errors = vErrors.length;
}
}
if(data.max_lifetime !== undefined){
let data6 = data.max_lifetime;
if(typeof data6 === "string"){
if(!pattern101.test(data6)){
const err6 = {instancePath:instancePath+"/max_lifetime",schemaPath:"#/$defs/max_lifetime/pattern",keyword:"pattern",params:{pattern: "^[1-9][0-9]{0,8}(ms|s|m|h)$"},message:"must match pattern \""+"^[1-9][0-9]{0,8}(ms|s|m|h)$"+"\"",schema:"^[1-9][0-9]{0,8}(ms|s|m|h)$",parentSchema:schema160,data:data6};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/max_lifetime",schemaPath:"#/$defs/max_lifetime/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema160.type,parentSchema:schema160,data:data6};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.because !== undefined){
let data7 = data.because;
if(typeof data7 === "string"){
if(func2(data7) > 500){
const err8 = {instancePath:instancePath+"/because",schemaPath:"#/$defs/because/maxLength",keyword:"maxLength",params:{limit: 500},message:"must NOT have more than 500 characters",schema:500,parentSchema:schema162,data:data7};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(!pattern103.test(data7)){
const err9 = {instancePath:instancePath+"/because",schemaPath:"#/$defs/because/pattern",keyword:"pattern",params:{pattern: "^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$"},message:"must match pattern \""+"^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$"+"\"",schema:"^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$",parentSchema:schema162,data:data7};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath:instancePath+"/because",schemaPath:"#/$defs/because/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema162.type,parentSchema:schema162,data:data7};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data.arguments !== undefined){
if(!(validate78(data.arguments, {instancePath:instancePath+"/arguments",parentData:data,parentDataProperty:"arguments",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate78.errors : vErrors.concat(validate78.errors);
errors = vErrors.length;
}
}
if(data.after !== undefined){
if(!(validate81(data.after, {instancePath:instancePath+"/after",parentData:data,parentDataProperty:"after",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate81.errors : vErrors.concat(validate81.errors);
errors = vErrors.length;
}
}
if(data.never_after !== undefined){
if(!(validate83(data.never_after, {instancePath:instancePath+"/never_after",parentData:data,parentDataProperty:"never_after",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate83.errors : vErrors.concat(validate83.errors);
errors = vErrors.length;
}
}
if(data.quota !== undefined){
if(!(validate85(data.quota, {instancePath:instancePath+"/quota",parentData:data,parentDataProperty:"quota",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate85.errors : vErrors.concat(validate85.errors);
errors = vErrors.length;
}
}
}
else {
const err11 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema163.type,parentSchema:schema163,data};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
validate73.errors = vErrors;
return errors === 0;
}
validate73.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema182 = {"description":"Conditions in addition to the policy's own. `{}`: no further condition.","type":"object","properties":{"scope":{"$ref":"#/$defs/scope"},"claims":{"$ref":"#/$defs/claims"},"any":{"$ref":"#/$defs/any"},"all":{"$ref":"#/$defs/all"},"not":{"$ref":"#/$defs/not"},"max_lifetime":{"$ref":"#/$defs/max_lifetime"},"because":{"$ref":"#/$defs/because"},"after":{"$ref":"#/$defs/after"},"never_after":{"$ref":"#/$defs/never_after"},"quota":{"$ref":"#/$defs/quota"}},"additionalProperties":false};

function validate90(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate90.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(func1.call(schema182.properties, key0))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema182,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.scope !== undefined){
let data0 = data.scope;
if((typeof data0 !== "string") && (!(Array.isArray(data0)))){
const err1 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/type",keyword:"type",params:{type: schema149.type},message:"must be string,array",schema:schema149.type,parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(typeof data0 === "string"){
if(!pattern97.test(data0)){
const err2 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"+"\"",schema:"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$",parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(Array.isArray(data0)){
if(data0.length < 1){
const err3 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(!pattern98.test(data1)){
const err4 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/$defs/scope/items/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+$"+"\"",schema:"^[!#-\\[\\]-~]+$",parentSchema:schema149.items,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/$defs/scope/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema149.items.type,parentSchema:schema149.items,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
}
if(data.claims !== undefined){
if(!(validate60(data.claims, {instancePath:instancePath+"/claims",parentData:data,parentDataProperty:"claims",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate60.errors : vErrors.concat(validate60.errors);
errors = vErrors.length;
}
}
if(data.any !== undefined){
if(!(validate64(data.any, {instancePath:instancePath+"/any",parentData:data,parentDataProperty:"any",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate64.errors : vErrors.concat(validate64.errors);
errors = vErrors.length;
}
}
if(data.all !== undefined){
if(!(validate67(data.all, {instancePath:instancePath+"/all",parentData:data,parentDataProperty:"all",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate67.errors : vErrors.concat(validate67.errors);
errors = vErrors.length;
}
}
if(data.not !== undefined){
if(!(validate65(data.not, {instancePath:instancePath+"/not",parentData:data,parentDataProperty:"not",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate65.errors : vErrors.concat(validate65.errors);
errors = vErrors.length;
}
}
if(data.max_lifetime !== undefined){
let data6 = data.max_lifetime;
if(typeof data6 === "string"){
if(!pattern101.test(data6)){
const err6 = {instancePath:instancePath+"/max_lifetime",schemaPath:"#/$defs/max_lifetime/pattern",keyword:"pattern",params:{pattern: "^[1-9][0-9]{0,8}(ms|s|m|h)$"},message:"must match pattern \""+"^[1-9][0-9]{0,8}(ms|s|m|h)$"+"\"",schema:"^[1-9][0-9]{0,8}(ms|s|m|h)$",parentSchema:schema160,data:data6};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/max_lifetime",schemaPath:"#/$defs/max_lifetime/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema160.type,parentSchema:schema160,data:data6};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.because !== undefined){
let data7 = data.because;
if(typeof data7 === "string"){
if(func2(data7) > 500){
const err8 = {instancePath:instancePath+"/because",schemaPath:"#/$defs/because/maxLength",keyword:"maxLength",params:{limit: 500},message:"must NOT have more than 500 characters",schema:500,parentSchema:schema162,data:data7};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(!pattern103.test(data7)){
const err9 = {instancePath:instancePath+"/because",schemaPath:"#/$defs/because/pattern",keyword:"pattern",params:{pattern: "^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$"},message:"must match pattern \""+"^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$"+"\"",schema:"^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$",parentSchema:schema162,data:data7};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath:instancePath+"/because",schemaPath:"#/$defs/because/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema162.type,parentSchema:schema162,data:data7};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data.after !== undefined){
if(!(validate81(data.after, {instancePath:instancePath+"/after",parentData:data,parentDataProperty:"after",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate81.errors : vErrors.concat(validate81.errors);
errors = vErrors.length;
}
}
if(data.never_after !== undefined){
if(!(validate83(data.never_after, {instancePath:instancePath+"/never_after",parentData:data,parentDataProperty:"never_after",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate83.errors : vErrors.concat(validate83.errors);
errors = vErrors.length;
}
}
if(data.quota !== undefined){
if(!(validate85(data.quota, {instancePath:instancePath+"/quota",parentData:data,parentDataProperty:"quota",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate85.errors : vErrors.concat(validate85.errors);
errors = vErrors.length;
}
}
}
else {
const err11 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema182.type,parentSchema:schema182,data};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
validate90.errors = vErrors;
return errors === 0;
}
validate90.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate59(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate59.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(func1.call(schema148.properties, key0))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema148,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.scope !== undefined){
let data0 = data.scope;
if((typeof data0 !== "string") && (!(Array.isArray(data0)))){
const err1 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/type",keyword:"type",params:{type: schema149.type},message:"must be string,array",schema:schema149.type,parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(typeof data0 === "string"){
if(!pattern97.test(data0)){
const err2 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"+"\"",schema:"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$",parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(Array.isArray(data0)){
if(data0.length < 1){
const err3 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(!pattern98.test(data1)){
const err4 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/$defs/scope/items/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+$"+"\"",schema:"^[!#-\\[\\]-~]+$",parentSchema:schema149.items,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/$defs/scope/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema149.items.type,parentSchema:schema149.items,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
}
if(data.claims !== undefined){
if(!(validate60(data.claims, {instancePath:instancePath+"/claims",parentData:data,parentDataProperty:"claims",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate60.errors : vErrors.concat(validate60.errors);
errors = vErrors.length;
}
}
if(data.any !== undefined){
if(!(validate64(data.any, {instancePath:instancePath+"/any",parentData:data,parentDataProperty:"any",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate64.errors : vErrors.concat(validate64.errors);
errors = vErrors.length;
}
}
if(data.all !== undefined){
if(!(validate67(data.all, {instancePath:instancePath+"/all",parentData:data,parentDataProperty:"all",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate67.errors : vErrors.concat(validate67.errors);
errors = vErrors.length;
}
}
if(data.not !== undefined){
if(!(validate65(data.not, {instancePath:instancePath+"/not",parentData:data,parentDataProperty:"not",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate65.errors : vErrors.concat(validate65.errors);
errors = vErrors.length;
}
}
if(data.max_lifetime !== undefined){
let data6 = data.max_lifetime;
if(typeof data6 === "string"){
if(!pattern101.test(data6)){
const err6 = {instancePath:instancePath+"/max_lifetime",schemaPath:"#/$defs/max_lifetime/pattern",keyword:"pattern",params:{pattern: "^[1-9][0-9]{0,8}(ms|s|m|h)$"},message:"must match pattern \""+"^[1-9][0-9]{0,8}(ms|s|m|h)$"+"\"",schema:"^[1-9][0-9]{0,8}(ms|s|m|h)$",parentSchema:schema160,data:data6};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/max_lifetime",schemaPath:"#/$defs/max_lifetime/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema160.type,parentSchema:schema160,data:data6};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.because !== undefined){
let data7 = data.because;
if(typeof data7 === "string"){
if(func2(data7) > 500){
const err8 = {instancePath:instancePath+"/because",schemaPath:"#/$defs/because/maxLength",keyword:"maxLength",params:{limit: 500},message:"must NOT have more than 500 characters",schema:500,parentSchema:schema162,data:data7};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
if(!pattern103.test(data7)){
const err9 = {instancePath:instancePath+"/because",schemaPath:"#/$defs/because/pattern",keyword:"pattern",params:{pattern: "^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$"},message:"must match pattern \""+"^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$"+"\"",schema:"^(?!\\s*$)[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202A-\\u202E\\u2066-\\u2069\\u{E0000}-\\u{E0FFF}]+$",parentSchema:schema162,data:data7};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
else {
const err10 = {instancePath:instancePath+"/because",schemaPath:"#/$defs/because/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema162.type,parentSchema:schema162,data:data7};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data.mode !== undefined){
let data8 = data.mode;
if(!((data8 === "enforce") || (data8 === "shadow"))){
const err11 = {instancePath:instancePath+"/mode",schemaPath:"#/properties/mode/enum",keyword:"enum",params:{allowedValues: schema148.properties.mode.enum},message:"must be equal to one of the allowed values",schema:schema148.properties.mode.enum,parentSchema:schema148.properties.mode,data:data8};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data.tools !== undefined){
let data9 = data.tools;
if(data9 && typeof data9 == "object" && !Array.isArray(data9)){
for(const key1 in data9){
const _errs20 = errors;
if(typeof key1 === "string"){
if(func2(key1) < 1){
const err12 = {instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/propertyNames/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema148.properties.tools.propertyNames,data:key1,propertyName:key1};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
var valid6 = _errs20 === errors;
if(!valid6){
const err13 = {instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/propertyNames",keyword:"propertyNames",params:{propertyName: key1},message:"property name must be valid",schema:schema148.properties.tools.propertyNames,parentSchema:schema148.properties.tools,data:data9};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
for(const key2 in data9){
if(!(validate73(data9[key2], {instancePath:instancePath+"/tools/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data9,parentDataProperty:key2,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate73.errors : vErrors.concat(validate73.errors);
errors = vErrors.length;
}
}
}
else {
const err14 = {instancePath:instancePath+"/tools",schemaPath:"#/properties/tools/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema148.properties.tools.type,parentSchema:schema148.properties.tools,data:data9};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
if(data.resources !== undefined){
let data11 = data.resources;
if(data11 && typeof data11 == "object" && !Array.isArray(data11)){
for(const key3 in data11){
const _errs25 = errors;
if(typeof key3 === "string"){
if(func2(key3) < 1){
const err15 = {instancePath:instancePath+"/resources",schemaPath:"#/properties/resources/propertyNames/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema148.properties.resources.propertyNames,data:key3,propertyName:key3};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
var valid8 = _errs25 === errors;
if(!valid8){
const err16 = {instancePath:instancePath+"/resources",schemaPath:"#/properties/resources/propertyNames",keyword:"propertyNames",params:{propertyName: key3},message:"property name must be valid",schema:schema148.properties.resources.propertyNames,parentSchema:schema148.properties.resources,data:data11};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
for(const key4 in data11){
if(!(validate90(data11[key4], {instancePath:instancePath+"/resources/" + key4.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data11,parentDataProperty:key4,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate90.errors : vErrors.concat(validate90.errors);
errors = vErrors.length;
}
}
}
else {
const err17 = {instancePath:instancePath+"/resources",schemaPath:"#/properties/resources/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema148.properties.resources.type,parentSchema:schema148.properties.resources,data:data11};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
if(data.prompts !== undefined){
let data13 = data.prompts;
if(data13 && typeof data13 == "object" && !Array.isArray(data13)){
for(const key5 in data13){
const _errs30 = errors;
if(typeof key5 === "string"){
if(func2(key5) < 1){
const err18 = {instancePath:instancePath+"/prompts",schemaPath:"#/properties/prompts/propertyNames/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema148.properties.prompts.propertyNames,data:key5,propertyName:key5};
if(vErrors === null){
vErrors = [err18];
}
else {
vErrors.push(err18);
}
errors++;
}
}
var valid10 = _errs30 === errors;
if(!valid10){
const err19 = {instancePath:instancePath+"/prompts",schemaPath:"#/properties/prompts/propertyNames",keyword:"propertyNames",params:{propertyName: key5},message:"property name must be valid",schema:schema148.properties.prompts.propertyNames,parentSchema:schema148.properties.prompts,data:data13};
if(vErrors === null){
vErrors = [err19];
}
else {
vErrors.push(err19);
}
errors++;
}
}
for(const key6 in data13){
if(!(validate73(data13[key6], {instancePath:instancePath+"/prompts/" + key6.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data13,parentDataProperty:key6,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate73.errors : vErrors.concat(validate73.errors);
errors = vErrors.length;
}
}
}
else {
const err20 = {instancePath:instancePath+"/prompts",schemaPath:"#/properties/prompts/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema148.properties.prompts.type,parentSchema:schema148.properties.prompts,data:data13};
if(vErrors === null){
vErrors = [err20];
}
else {
vErrors.push(err20);
}
errors++;
}
}
if(data.methods !== undefined){
let data15 = data.methods;
if(data15 && typeof data15 == "object" && !Array.isArray(data15)){
for(const key7 in data15){
const _errs35 = errors;
if(typeof key7 === "string"){
if(func2(key7) < 1){
const err21 = {instancePath:instancePath+"/methods",schemaPath:"#/properties/methods/propertyNames/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema148.properties.methods.propertyNames,data:key7,propertyName:key7};
if(vErrors === null){
vErrors = [err21];
}
else {
vErrors.push(err21);
}
errors++;
}
}
var valid12 = _errs35 === errors;
if(!valid12){
const err22 = {instancePath:instancePath+"/methods",schemaPath:"#/properties/methods/propertyNames",keyword:"propertyNames",params:{propertyName: key7},message:"property name must be valid",schema:schema148.properties.methods.propertyNames,parentSchema:schema148.properties.methods,data:data15};
if(vErrors === null){
vErrors = [err22];
}
else {
vErrors.push(err22);
}
errors++;
}
}
for(const key8 in data15){
if(!(validate90(data15[key8], {instancePath:instancePath+"/methods/" + key8.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data15,parentDataProperty:key8,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate90.errors : vErrors.concat(validate90.errors);
errors = vErrors.length;
}
}
}
else {
const err23 = {instancePath:instancePath+"/methods",schemaPath:"#/properties/methods/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema148.properties.methods.type,parentSchema:schema148.properties.methods,data:data15};
if(vErrors === null){
vErrors = [err23];
}
else {
vErrors.push(err23);
}
errors++;
}
}
if(data.lists !== undefined){
let data17 = data.lists;
if(!((data17 === "filter") || (data17 === "show"))){
const err24 = {instancePath:instancePath+"/lists",schemaPath:"#/properties/lists/enum",keyword:"enum",params:{allowedValues: schema148.properties.lists.enum},message:"must be equal to one of the allowed values",schema:schema148.properties.lists.enum,parentSchema:schema148.properties.lists,data:data17};
if(vErrors === null){
vErrors = [err24];
}
else {
vErrors.push(err24);
}
errors++;
}
}
if(data.lock !== undefined){
let data18 = data.lock;
if(!((data18 === "deny") || (data18 === "report"))){
const err25 = {instancePath:instancePath+"/lock",schemaPath:"#/properties/lock/enum",keyword:"enum",params:{allowedValues: schema148.properties.lock.enum},message:"must be equal to one of the allowed values",schema:schema148.properties.lock.enum,parentSchema:schema148.properties.lock,data:data18};
if(vErrors === null){
vErrors = [err25];
}
else {
vErrors.push(err25);
}
errors++;
}
}
}
else {
const err26 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema148.type,parentSchema:schema148,data};
if(vErrors === null){
vErrors = [err26];
}
else {
vErrors.push(err26);
}
errors++;
}
validate59.errors = vErrors;
return errors === 0;
}
validate59.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const policyLock = validate101;
const schema186 = {"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Sallyport lock","description":"A file policies/NAME.lock.yaml: the definitions of an MCP server that were approved for policies/NAME.yaml. Written by `sallyport lock`.","type":"object","properties":{"instructions":{"$ref":"#/$defs/definition"},"tools":{"$ref":"#/$defs/definitions"},"prompts":{"$ref":"#/$defs/definitions"}},"additionalProperties":false,"$defs":{"definitions":{"description":"Definitions by their names.","type":"object","additionalProperties":{"$ref":"#/$defs/definition"}},"definition":{"description":"One definition, without `_meta`.","type":"object","properties":{"description":{"description":"The first line of its description, for people.","type":"string"},"sha256":{"title":"a SHA-256 in hex","description":"Its SHA-256, over its canonical text (RFC 8785).","type":"string","pattern":"^[0-9a-f]{64}$"},"members":{"description":"The beginning of the SHA-256 of each member, by which messages name the members that changed. It decides nothing.","type":"object","additionalProperties":{"title":"16 hex digits","type":"string","pattern":"^[0-9a-f]{16}$"}}},"required":["sha256"],"additionalProperties":false}}};
const schema187 = {"description":"One definition, without `_meta`.","type":"object","properties":{"description":{"description":"The first line of its description, for people.","type":"string"},"sha256":{"title":"a SHA-256 in hex","description":"Its SHA-256, over its canonical text (RFC 8785).","type":"string","pattern":"^[0-9a-f]{64}$"},"members":{"description":"The beginning of the SHA-256 of each member, by which messages name the members that changed. It decides nothing.","type":"object","additionalProperties":{"title":"16 hex digits","type":"string","pattern":"^[0-9a-f]{16}$"}}},"required":["sha256"],"additionalProperties":false};
const pattern119 = new RegExp("^[0-9a-f]{64}$", "u");
const pattern120 = new RegExp("^[0-9a-f]{16}$", "u");
const schema188 = {"description":"Definitions by their names.","type":"object","additionalProperties":{"$ref":"#/$defs/definition"}};

function validate102(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate102.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
let data0 = data[key0];
if(data0 && typeof data0 == "object" && !Array.isArray(data0)){
if(data0.sha256 === undefined){
const err0 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/definition/required",keyword:"required",params:{missingProperty: "sha256"},message:"must have required property '"+"sha256"+"'",schema:schema187.required,parentSchema:schema187,data:data0};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key1 in data0){
if(!(((key1 === "description") || (key1 === "sha256")) || (key1 === "members"))){
const err1 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/definition/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key1},message:"must NOT have additional properties",schema:false,parentSchema:schema187,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data0.description !== undefined){
let data1 = data0.description;
if(typeof data1 !== "string"){
const err2 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1")+"/description",schemaPath:"#/$defs/definition/properties/description/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema187.properties.description.type,parentSchema:schema187.properties.description,data:data1};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data0.sha256 !== undefined){
let data2 = data0.sha256;
if(typeof data2 === "string"){
if(!pattern119.test(data2)){
const err3 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1")+"/sha256",schemaPath:"#/$defs/definition/properties/sha256/pattern",keyword:"pattern",params:{pattern: "^[0-9a-f]{64}$"},message:"must match pattern \""+"^[0-9a-f]{64}$"+"\"",schema:"^[0-9a-f]{64}$",parentSchema:schema187.properties.sha256,data:data2};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1")+"/sha256",schemaPath:"#/$defs/definition/properties/sha256/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema187.properties.sha256.type,parentSchema:schema187.properties.sha256,data:data2};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data0.members !== undefined){
let data3 = data0.members;
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
for(const key2 in data3){
let data4 = data3[key2];
if(typeof data4 === "string"){
if(!pattern120.test(data4)){
const err5 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1")+"/members/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/definition/properties/members/additionalProperties/pattern",keyword:"pattern",params:{pattern: "^[0-9a-f]{16}$"},message:"must match pattern \""+"^[0-9a-f]{16}$"+"\"",schema:"^[0-9a-f]{16}$",parentSchema:schema187.properties.members.additionalProperties,data:data4};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1")+"/members/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/definition/properties/members/additionalProperties/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema187.properties.members.additionalProperties.type,parentSchema:schema187.properties.members.additionalProperties,data:data4};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
}
else {
const err7 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1")+"/members",schemaPath:"#/$defs/definition/properties/members/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema187.properties.members.type,parentSchema:schema187.properties.members,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
else {
const err8 = {instancePath:instancePath+"/" + key0.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/definition/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema187.type,parentSchema:schema187,data:data0};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
}
else {
const err9 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema188.type,parentSchema:schema188,data};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
validate102.errors = vErrors;
return errors === 0;
}
validate102.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate101(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate101.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(((key0 === "instructions") || (key0 === "tools")) || (key0 === "prompts"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema186,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.instructions !== undefined){
let data0 = data.instructions;
if(data0 && typeof data0 == "object" && !Array.isArray(data0)){
if(data0.sha256 === undefined){
const err1 = {instancePath:instancePath+"/instructions",schemaPath:"#/$defs/definition/required",keyword:"required",params:{missingProperty: "sha256"},message:"must have required property '"+"sha256"+"'",schema:schema187.required,parentSchema:schema187,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key1 in data0){
if(!(((key1 === "description") || (key1 === "sha256")) || (key1 === "members"))){
const err2 = {instancePath:instancePath+"/instructions",schemaPath:"#/$defs/definition/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key1},message:"must NOT have additional properties",schema:false,parentSchema:schema187,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data0.description !== undefined){
let data1 = data0.description;
if(typeof data1 !== "string"){
const err3 = {instancePath:instancePath+"/instructions/description",schemaPath:"#/$defs/definition/properties/description/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema187.properties.description.type,parentSchema:schema187.properties.description,data:data1};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data0.sha256 !== undefined){
let data2 = data0.sha256;
if(typeof data2 === "string"){
if(!pattern119.test(data2)){
const err4 = {instancePath:instancePath+"/instructions/sha256",schemaPath:"#/$defs/definition/properties/sha256/pattern",keyword:"pattern",params:{pattern: "^[0-9a-f]{64}$"},message:"must match pattern \""+"^[0-9a-f]{64}$"+"\"",schema:"^[0-9a-f]{64}$",parentSchema:schema187.properties.sha256,data:data2};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/instructions/sha256",schemaPath:"#/$defs/definition/properties/sha256/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema187.properties.sha256.type,parentSchema:schema187.properties.sha256,data:data2};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data0.members !== undefined){
let data3 = data0.members;
if(data3 && typeof data3 == "object" && !Array.isArray(data3)){
for(const key2 in data3){
let data4 = data3[key2];
if(typeof data4 === "string"){
if(!pattern120.test(data4)){
const err6 = {instancePath:instancePath+"/instructions/members/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/definition/properties/members/additionalProperties/pattern",keyword:"pattern",params:{pattern: "^[0-9a-f]{16}$"},message:"must match pattern \""+"^[0-9a-f]{16}$"+"\"",schema:"^[0-9a-f]{16}$",parentSchema:schema187.properties.members.additionalProperties,data:data4};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/instructions/members/" + key2.replace(/~/g, "~0").replace(/\//g, "~1"),schemaPath:"#/$defs/definition/properties/members/additionalProperties/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema187.properties.members.additionalProperties.type,parentSchema:schema187.properties.members.additionalProperties,data:data4};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
else {
const err8 = {instancePath:instancePath+"/instructions/members",schemaPath:"#/$defs/definition/properties/members/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema187.properties.members.type,parentSchema:schema187.properties.members,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
}
else {
const err9 = {instancePath:instancePath+"/instructions",schemaPath:"#/$defs/definition/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema187.type,parentSchema:schema187,data:data0};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.tools !== undefined){
if(!(validate102(data.tools, {instancePath:instancePath+"/tools",parentData:data,parentDataProperty:"tools",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate102.errors : vErrors.concat(validate102.errors);
errors = vErrors.length;
}
}
if(data.prompts !== undefined){
if(!(validate102(data.prompts, {instancePath:instancePath+"/prompts",parentData:data,parentDataProperty:"prompts",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate102.errors : vErrors.concat(validate102.errors);
errors = vErrors.length;
}
}
}
else {
const err10 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema186.type,parentSchema:schema186,data};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
validate101.errors = vErrors;
return errors === 0;
}
validate101.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

export const policyTest = validate105;
const schema190 = {"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Sallyport policy test","description":"A file policies/NAME.test.yaml: examples and properties of policies/NAME.yaml. Run by `sallyport test`.","type":"array","minItems":1,"items":{"if":{"type":"object","required":["for_all"]},"then":{"$ref":"#/$defs/property"},"else":{"$ref":"#/$defs/test"}},"$defs":{"test":{"description":"One call of one caller.","type":"object","properties":{"name":{"description":"What the test shows, in one sentence.","type":"string","minLength":1},"given":{"$ref":"#/$defs/given"},"when":{"$ref":"#/$defs/when"},"then":{"$ref":"#/$defs/then"}},"required":["name","given","when","then"],"additionalProperties":false},"property":{"description":"A property: what the policy decides for every caller and every call that it describes. `sallyport test` proves it or finds a counterexample.","type":"object","properties":{"name":{"description":"What the property says, in one sentence.","type":"string","minLength":1},"for_all":{"$ref":"#/$defs/for_all"},"when":{"$ref":"#/$defs/every"},"then":{"$ref":"#/$defs/always"}},"required":["name","for_all","when","then"],"additionalProperties":false},"for_all":{"description":"The callers that the property describes, as conditions of a policy. `{}`: every caller. `not` describes all callers that the conditions under it do not describe.","$ref":"policy.schema.json#/$defs/policy"},"every":{"title":"any, or a mapping with tool, resource, template, prompt or method","description":"The calls that the property describes. `any`: every call. `{}`: every request on an HTTP route. At most one of `tool`, `resource`, `template` and `prompt`.","anyOf":[{"const":"any"},{"type":"object","properties":{"tool":{"description":"tools/call of these tools: a name, a list of names, predicates as under `claims`, or `any`.","$ref":"#/$defs/names"},"resource":{"description":"resources/read of these URIs, or another `method` that acts on them.","$ref":"#/$defs/names"},"template":{"description":"completion/complete for a variable of these URI templates.","$ref":"#/$defs/names"},"prompt":{"description":"prompts/get of these prompts, or another `method` that acts on them.","$ref":"#/$defs/names"},"method":{"description":"Other JSON-RPC methods.","$ref":"#/$defs/names"},"arguments":{"description":"Conditions on the arguments of the tool or prompt, by JSON Pointer as under `arguments` of a policy.","$ref":"policy.schema.json#/$defs/arguments"}},"additionalProperties":false}]},"names":{"description":"Names of what is called: one, a list, predicates as under `claims`, or `any`.","$ref":"policy.schema.json#/$defs/value"},"always":{"title":"allow, deny, { deny: REASON } or { deny: [REASON, …] }","description":"What the policy decides for each of these calls. `deny`: any reason; `{ deny: [REASON, …] }`: one of these reasons, with `challenge` for the scopes in the challenge.","anyOf":[{"enum":["allow","deny"]},{"type":"object","properties":{"deny":{"title":"a reason of a policy, or a list of them","description":"A reason, or a list of accepted reasons.","anyOf":[{"$ref":"#/$defs/reason"},{"type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/reason"}}]},"challenge":{"$ref":"#/$defs/challenge"}},"required":["deny"],"additionalProperties":false}]},"given":{"description":"The caller's token. `{}`: a valid token without further content.","type":"object","properties":{"scope":{"description":"The granted scopes: one, several separated by single spaces, or a list. Scopes that they imply by `scopes` of gateway.yaml are added.","type":["string","array"],"pattern":"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$","items":{"type":"string","pattern":"^[!#-\\[\\]-~]+$"},"examples":["read","read payments"]},"claims":{"description":"The other claims, as in the token.","type":"object","examples":[{"role":"trader"}]},"lifetime":{"description":"exp - iat, as 60s or 5m. Without it the token has neither claim, and every `max_lifetime` refuses it.","type":"string","pattern":"^[1-9][0-9]{0,8}(ms|s|m|h)$","examples":["60s","5m"]},"issuer":{"description":"The issuer of the token (`iss`). Default: the first of `authorization_servers`.","type":"string","minLength":1},"history":{"$ref":"#/$defs/history"}},"additionalProperties":false},"history":{"description":"The calls that were made before, for rules over time, in any order. They count whether or not the policy would allow them.","type":"array","items":{"$ref":"#/$defs/earlier_call"},"examples":[[{"tool":"approve","arguments":{"claim_id":7},"ago":"10m"}]]},"earlier_call":{"description":"A call that was made before: at most one of `tool`, `resource` and `prompt`, or a `method`.","type":"object","properties":{"tool":{"description":"tools/call of this tool.","type":"string"},"resource":{"description":"resources/read of this URI, or another `method` that acts on it.","type":"string"},"prompt":{"description":"prompts/get of this prompt, or another `method` that acts on it.","type":"string"},"arguments":{"description":"The arguments of the tool or prompt.","type":"object"},"method":{"description":"Another JSON-RPC method.","type":"string","minLength":1},"ago":{"title":"a duration such as 30s, 10m, 1h or 7d","description":"The time between this call and the call of the test, as 30s, 10m, 1h or 7d.","type":"string","pattern":"^(?:0|[1-9][0-9]{0,8})(?:ms|s|m|h|d)$","examples":["10m"]},"subject":{"description":"The subject that made the call, with the same issuer, client and claims otherwise. Default: the caller of the test.","type":"string","minLength":1},"outcome":{"description":"How the call ended. `answered` (default): without an error. `error`: with an error, or it never reached the upstream, so that it does not count. `unanswered`: it is in progress, or it reached the upstream and was not answered; it counts for `never_after` and `quota`, but not for `after`.","enum":["answered","error","unanswered"]}},"required":["ago"],"additionalProperties":false},"when":{"description":"The call: at most one of `tool`, `resource`, `template` and `prompt`. `{}`: a request on an HTTP route.","type":"object","properties":{"tool":{"description":"tools/call of this tool.","type":"string"},"resource":{"description":"resources/read of this URI, or another `method` that acts on it.","type":"string"},"template":{"description":"completion/complete for a variable of this URI template.","type":"string"},"prompt":{"description":"prompts/get of this prompt, or another `method` that acts on it.","type":"string"},"arguments":{"description":"The arguments of the tool or prompt.","type":"object"},"method":{"description":"Another JSON-RPC method.","type":"string","minLength":1,"examples":["initialize","resources/subscribe"]}},"additionalProperties":false},"then":{"title":"allow, shadow or { deny: REASON }","description":"`allow`; `{ deny: REASON }`, with `challenge` for the scopes in the challenge; `shadow`: allowed, but would be denied without `mode: shadow`.","anyOf":[{"enum":["allow","shadow"]},{"type":"object","properties":{"deny":{"$ref":"#/$defs/reason"},"challenge":{"$ref":"#/$defs/challenge"}},"required":["deny"],"additionalProperties":false}]},"reason":{"description":"A reason of docs/reasons.md that a policy can have.","enum":["scope.insufficient","claim.denied","argument.denied","lifetime.exceeded","alternatives.exhausted","exclusion.matched","tool.unlisted","resource.unlisted","prompt.unlisted","method.unlisted","policy.error","history.missing","history.forbidden","quota.exceeded"]},"challenge":{"description":"The exact scopes of the challenge, in its order; empty: no challenge. Not compared if absent.","type":"string"}}};
const schema191 = {"description":"A property: what the policy decides for every caller and every call that it describes. `sallyport test` proves it or finds a counterexample.","type":"object","properties":{"name":{"description":"What the property says, in one sentence.","type":"string","minLength":1},"for_all":{"$ref":"#/$defs/for_all"},"when":{"$ref":"#/$defs/every"},"then":{"$ref":"#/$defs/always"}},"required":["name","for_all","when","then"],"additionalProperties":false};

function validate107(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate107.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((((key0 === "scope") || (key0 === "claims")) || (key0 === "any")) || (key0 === "all")) || (key0 === "not")) || (key0 === "max_lifetime"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema157,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.scope !== undefined){
let data0 = data.scope;
if((typeof data0 !== "string") && (!(Array.isArray(data0)))){
const err1 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/type",keyword:"type",params:{type: schema149.type},message:"must be string,array",schema:schema149.type,parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(typeof data0 === "string"){
if(!pattern97.test(data0)){
const err2 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"+"\"",schema:"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$",parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(Array.isArray(data0)){
if(data0.length < 1){
const err3 = {instancePath:instancePath+"/scope",schemaPath:"#/$defs/scope/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema149,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(!pattern98.test(data1)){
const err4 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/$defs/scope/items/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+$"+"\"",schema:"^[!#-\\[\\]-~]+$",parentSchema:schema149.items,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
else {
const err5 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/$defs/scope/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema149.items.type,parentSchema:schema149.items,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
}
}
if(data.claims !== undefined){
if(!(validate60(data.claims, {instancePath:instancePath+"/claims",parentData:data,parentDataProperty:"claims",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate60.errors : vErrors.concat(validate60.errors);
errors = vErrors.length;
}
}
if(data.any !== undefined){
if(!(validate64(data.any, {instancePath:instancePath+"/any",parentData:data,parentDataProperty:"any",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate64.errors : vErrors.concat(validate64.errors);
errors = vErrors.length;
}
}
if(data.all !== undefined){
if(!(validate67(data.all, {instancePath:instancePath+"/all",parentData:data,parentDataProperty:"all",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate67.errors : vErrors.concat(validate67.errors);
errors = vErrors.length;
}
}
if(data.not !== undefined){
if(!(validate65(data.not, {instancePath:instancePath+"/not",parentData:data,parentDataProperty:"not",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate65.errors : vErrors.concat(validate65.errors);
errors = vErrors.length;
}
}
if(data.max_lifetime !== undefined){
let data6 = data.max_lifetime;
if(typeof data6 === "string"){
if(!pattern101.test(data6)){
const err6 = {instancePath:instancePath+"/max_lifetime",schemaPath:"#/$defs/max_lifetime/pattern",keyword:"pattern",params:{pattern: "^[1-9][0-9]{0,8}(ms|s|m|h)$"},message:"must match pattern \""+"^[1-9][0-9]{0,8}(ms|s|m|h)$"+"\"",schema:"^[1-9][0-9]{0,8}(ms|s|m|h)$",parentSchema:schema160,data:data6};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/max_lifetime",schemaPath:"#/$defs/max_lifetime/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema160.type,parentSchema:schema160,data:data6};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
else {
const err8 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema157.type,parentSchema:schema157,data};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
validate107.errors = vErrors;
return errors === 0;
}
validate107.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema195 = {"title":"any, or a mapping with tool, resource, template, prompt or method","description":"The calls that the property describes. `any`: every call. `{}`: every request on an HTTP route. At most one of `tool`, `resource`, `template` and `prompt`.","anyOf":[{"const":"any"},{"type":"object","properties":{"tool":{"description":"tools/call of these tools: a name, a list of names, predicates as under `claims`, or `any`.","$ref":"#/$defs/names"},"resource":{"description":"resources/read of these URIs, or another `method` that acts on them.","$ref":"#/$defs/names"},"template":{"description":"completion/complete for a variable of these URI templates.","$ref":"#/$defs/names"},"prompt":{"description":"prompts/get of these prompts, or another `method` that acts on them.","$ref":"#/$defs/names"},"method":{"description":"Other JSON-RPC methods.","$ref":"#/$defs/names"},"arguments":{"description":"Conditions on the arguments of the tool or prompt, by JSON Pointer as under `arguments` of a policy.","$ref":"policy.schema.json#/$defs/arguments"}},"additionalProperties":false}]};

function validate114(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate114.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if((((!data || typeof data != "object") && (typeof data !== "string")) && (!((typeof data == "number") && (isFinite(data))))) && (typeof data !== "boolean")){
const err0 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: schema151.type},message:"must be string,number,boolean,array,object",schema:schema151.type,parentSchema:schema151,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(Array.isArray(data)){
if(data.length < 1){
const err1 = {instancePath,schemaPath:"#/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema151,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
let data0 = data[i0];
if(((typeof data0 !== "string") && (!((typeof data0 == "number") && (isFinite(data0))))) && (typeof data0 !== "boolean")){
const err2 = {instancePath:instancePath+"/" + i0,schemaPath:"#/$defs/scalar/type",keyword:"type",params:{type: schema152.type},message:"must be string,number,boolean",schema:schema152.type,parentSchema:schema152,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(Object.keys(data).length < 1){
const err3 = {instancePath,schemaPath:"#/minProperties",keyword:"minProperties",params:{limit: 1},message:"must NOT have fewer than 1 properties",schema:1,parentSchema:schema151,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
for(const key0 in data){
if(!(func1.call(schema151.properties, key0))){
const err4 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema151,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.equals !== undefined){
let data1 = data.equals;
if(((typeof data1 !== "string") && (!((typeof data1 == "number") && (isFinite(data1))))) && (typeof data1 !== "boolean")){
const err5 = {instancePath:instancePath+"/equals",schemaPath:"#/$defs/scalar/type",keyword:"type",params:{type: schema152.type},message:"must be string,number,boolean",schema:schema152.type,parentSchema:schema152,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.one_of !== undefined){
let data2 = data.one_of;
if(Array.isArray(data2)){
if(data2.length < 1){
const err6 = {instancePath:instancePath+"/one_of",schemaPath:"#/properties/one_of/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema151.properties.one_of,data:data2};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
const len1 = data2.length;
for(let i1=0; i1<len1; i1++){
let data3 = data2[i1];
if(((typeof data3 !== "string") && (!((typeof data3 == "number") && (isFinite(data3))))) && (typeof data3 !== "boolean")){
const err7 = {instancePath:instancePath+"/one_of/" + i1,schemaPath:"#/$defs/scalar/type",keyword:"type",params:{type: schema152.type},message:"must be string,number,boolean",schema:schema152.type,parentSchema:schema152,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
}
else {
const err8 = {instancePath:instancePath+"/one_of",schemaPath:"#/properties/one_of/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema151.properties.one_of.type,parentSchema:schema151.properties.one_of,data:data2};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data.contains !== undefined){
let data4 = data.contains;
if(((typeof data4 !== "string") && (!((typeof data4 == "number") && (isFinite(data4))))) && (typeof data4 !== "boolean")){
const err9 = {instancePath:instancePath+"/contains",schemaPath:"#/$defs/scalar/type",keyword:"type",params:{type: schema152.type},message:"must be string,number,boolean",schema:schema152.type,parentSchema:schema152,data:data4};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.below !== undefined){
let data5 = data.below;
if(!((typeof data5 == "number") && (isFinite(data5)))){
const err10 = {instancePath:instancePath+"/below",schemaPath:"#/properties/below/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema151.properties.below.type,parentSchema:schema151.properties.below,data:data5};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data.at_most !== undefined){
let data6 = data.at_most;
if(!((typeof data6 == "number") && (isFinite(data6)))){
const err11 = {instancePath:instancePath+"/at_most",schemaPath:"#/properties/at_most/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema151.properties.at_most.type,parentSchema:schema151.properties.at_most,data:data6};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data.above !== undefined){
let data7 = data.above;
if(!((typeof data7 == "number") && (isFinite(data7)))){
const err12 = {instancePath:instancePath+"/above",schemaPath:"#/properties/above/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema151.properties.above.type,parentSchema:schema151.properties.above,data:data7};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data.at_least !== undefined){
let data8 = data.at_least;
if(!((typeof data8 == "number") && (isFinite(data8)))){
const err13 = {instancePath:instancePath+"/at_least",schemaPath:"#/properties/at_least/type",keyword:"type",params:{type: "number"},message:"must be number",schema:schema151.properties.at_least.type,parentSchema:schema151.properties.at_least,data:data8};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
if(data.matches !== undefined){
let data9 = data.matches;
if(typeof data9 === "string"){
if(func2(data9) < 1){
const err14 = {instancePath:instancePath+"/matches",schemaPath:"#/properties/matches/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema151.properties.matches,data:data9};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
else {
const err15 = {instancePath:instancePath+"/matches",schemaPath:"#/properties/matches/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema151.properties.matches.type,parentSchema:schema151.properties.matches,data:data9};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
if(data.present !== undefined){
let data10 = data.present;
if(typeof data10 !== "boolean"){
const err16 = {instancePath:instancePath+"/present",schemaPath:"#/properties/present/type",keyword:"type",params:{type: "boolean"},message:"must be boolean",schema:schema151.properties.present.type,parentSchema:schema151.properties.present,data:data10};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
}
if(data.not !== undefined){
if(!(validate61(data.not, {instancePath:instancePath+"/not",parentData:data,parentDataProperty:"not",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate61.errors : vErrors.concat(validate61.errors);
errors = vErrors.length;
}
}
if(data.integer !== undefined){
let data12 = data.integer;
if(true !== data12){
const err17 = {instancePath:instancePath+"/integer",schemaPath:"#/properties/integer/const",keyword:"const",params:{allowedValue: true},message:"must be equal to constant",schema:true,parentSchema:schema151.properties.integer,data:data12};
if(vErrors === null){
vErrors = [err17];
}
else {
vErrors.push(err17);
}
errors++;
}
}
}
validate114.errors = vErrors;
return errors === 0;
}
validate114.evaluated = {"props":true,"items":true,"dynamicProps":false,"dynamicItems":false};


function validate121(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate121.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(Object.keys(data).length < 1){
const err0 = {instancePath,schemaPath:"#/minProperties",keyword:"minProperties",params:{limit: 1},message:"must NOT have fewer than 1 properties",schema:1,parentSchema:schema167,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data){
const _errs1 = errors;
if(typeof key0 === "string"){
if(!pattern108.test(key0)){
const err1 = {instancePath,schemaPath:"#/propertyNames/pattern",keyword:"pattern",params:{pattern: "^/"},message:"must match pattern \""+"^/"+"\"",schema:"^/",parentSchema:schema167.propertyNames,data:key0,propertyName:key0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
var valid0 = _errs1 === errors;
if(!valid0){
const err2 = {instancePath,schemaPath:"#/propertyNames",keyword:"propertyNames",params:{propertyName: key0},message:"property name must be valid",schema:schema167.propertyNames,parentSchema:schema167,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
for(const key1 in data){
if(!(validate61(data[key1], {instancePath:instancePath+"/" + key1.replace(/~/g, "~0").replace(/\//g, "~1"),parentData:data,parentDataProperty:key1,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate61.errors : vErrors.concat(validate61.errors);
errors = vErrors.length;
}
}
}
else {
const err3 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema167.type,parentSchema:schema167,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
validate121.errors = vErrors;
return errors === 0;
}
validate121.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate113(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate113.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
const _errs0 = errors;
let valid0 = false;
const _errs1 = errors;
if("any" !== data){
const err0 = {instancePath,schemaPath:"#/anyOf/0/const",keyword:"const",params:{allowedValue: "any"},message:"must be equal to constant",schema:"any",parentSchema:schema195.anyOf[0],data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
var _valid0 = _errs1 === errors;
valid0 = valid0 || _valid0;
const _errs2 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!((((((key0 === "tool") || (key0 === "resource")) || (key0 === "template")) || (key0 === "prompt")) || (key0 === "method")) || (key0 === "arguments"))){
const err1 = {instancePath,schemaPath:"#/anyOf/1/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema195.anyOf[1],data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data.tool !== undefined){
if(!(validate114(data.tool, {instancePath:instancePath+"/tool",parentData:data,parentDataProperty:"tool",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate114.errors : vErrors.concat(validate114.errors);
errors = vErrors.length;
}
}
if(data.resource !== undefined){
if(!(validate114(data.resource, {instancePath:instancePath+"/resource",parentData:data,parentDataProperty:"resource",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate114.errors : vErrors.concat(validate114.errors);
errors = vErrors.length;
}
}
if(data.template !== undefined){
if(!(validate114(data.template, {instancePath:instancePath+"/template",parentData:data,parentDataProperty:"template",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate114.errors : vErrors.concat(validate114.errors);
errors = vErrors.length;
}
}
if(data.prompt !== undefined){
if(!(validate114(data.prompt, {instancePath:instancePath+"/prompt",parentData:data,parentDataProperty:"prompt",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate114.errors : vErrors.concat(validate114.errors);
errors = vErrors.length;
}
}
if(data.method !== undefined){
if(!(validate114(data.method, {instancePath:instancePath+"/method",parentData:data,parentDataProperty:"method",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate114.errors : vErrors.concat(validate114.errors);
errors = vErrors.length;
}
}
if(data.arguments !== undefined){
if(!(validate121(data.arguments, {instancePath:instancePath+"/arguments",parentData:data,parentDataProperty:"arguments",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate121.errors : vErrors.concat(validate121.errors);
errors = vErrors.length;
}
}
}
else {
const err2 = {instancePath,schemaPath:"#/anyOf/1/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema195.anyOf[1].type,parentSchema:schema195.anyOf[1],data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
var _valid0 = _errs2 === errors;
valid0 = valid0 || _valid0;
if(_valid0){
var props0 = true;
}
if(!valid0){
const err3 = {instancePath,schemaPath:"#/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema195.anyOf,parentSchema:schema195,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
else {
errors = _errs0;
if(vErrors !== null){
if(_errs0){
vErrors.length = _errs0;
}
else {
vErrors = null;
}
}
}
validate113.errors = vErrors;
evaluated0.props = props0;
return errors === 0;
}
validate113.evaluated = {"dynamicProps":true,"dynamicItems":false};

const schema202 = {"title":"allow, deny, { deny: REASON } or { deny: [REASON, …] }","description":"What the policy decides for each of these calls. `deny`: any reason; `{ deny: [REASON, …] }`: one of these reasons, with `challenge` for the scopes in the challenge.","anyOf":[{"enum":["allow","deny"]},{"type":"object","properties":{"deny":{"title":"a reason of a policy, or a list of them","description":"A reason, or a list of accepted reasons.","anyOf":[{"$ref":"#/$defs/reason"},{"type":"array","minItems":1,"uniqueItems":true,"items":{"$ref":"#/$defs/reason"}}]},"challenge":{"$ref":"#/$defs/challenge"}},"required":["deny"],"additionalProperties":false}]};
const schema203 = {"description":"A reason of docs/reasons.md that a policy can have.","enum":["scope.insufficient","claim.denied","argument.denied","lifetime.exceeded","alternatives.exhausted","exclusion.matched","tool.unlisted","resource.unlisted","prompt.unlisted","method.unlisted","policy.error","history.missing","history.forbidden","quota.exceeded"]};
const schema205 = {"description":"The exact scopes of the challenge, in its order; empty: no challenge. Not compared if absent.","type":"string"};

function validate125(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate125.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
const _errs0 = errors;
let valid0 = false;
const _errs1 = errors;
if(!((data === "allow") || (data === "deny"))){
const err0 = {instancePath,schemaPath:"#/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema202.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema202.anyOf[0].enum,parentSchema:schema202.anyOf[0],data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
var _valid0 = _errs1 === errors;
valid0 = valid0 || _valid0;
const _errs2 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.deny === undefined){
const err1 = {instancePath,schemaPath:"#/anyOf/1/required",keyword:"required",params:{missingProperty: "deny"},message:"must have required property '"+"deny"+"'",schema:schema202.anyOf[1].required,parentSchema:schema202.anyOf[1],data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!((key0 === "deny") || (key0 === "challenge"))){
const err2 = {instancePath,schemaPath:"#/anyOf/1/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema202.anyOf[1],data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.deny !== undefined){
let data0 = data.deny;
const _errs6 = errors;
let valid2 = false;
const _errs7 = errors;
if(!((((((((((((((data0 === "scope.insufficient") || (data0 === "claim.denied")) || (data0 === "argument.denied")) || (data0 === "lifetime.exceeded")) || (data0 === "alternatives.exhausted")) || (data0 === "exclusion.matched")) || (data0 === "tool.unlisted")) || (data0 === "resource.unlisted")) || (data0 === "prompt.unlisted")) || (data0 === "method.unlisted")) || (data0 === "policy.error")) || (data0 === "history.missing")) || (data0 === "history.forbidden")) || (data0 === "quota.exceeded"))){
const err3 = {instancePath:instancePath+"/deny",schemaPath:"#/$defs/reason/enum",keyword:"enum",params:{allowedValues: schema203.enum},message:"must be equal to one of the allowed values",schema:schema203.enum,parentSchema:schema203,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
var _valid1 = _errs7 === errors;
valid2 = valid2 || _valid1;
const _errs9 = errors;
if(Array.isArray(data0)){
if(data0.length < 1){
const err4 = {instancePath:instancePath+"/deny",schemaPath:"#/anyOf/1/properties/deny/anyOf/1/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema202.anyOf[1].properties.deny.anyOf[1],data:data0};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(!((((((((((((((data1 === "scope.insufficient") || (data1 === "claim.denied")) || (data1 === "argument.denied")) || (data1 === "lifetime.exceeded")) || (data1 === "alternatives.exhausted")) || (data1 === "exclusion.matched")) || (data1 === "tool.unlisted")) || (data1 === "resource.unlisted")) || (data1 === "prompt.unlisted")) || (data1 === "method.unlisted")) || (data1 === "policy.error")) || (data1 === "history.missing")) || (data1 === "history.forbidden")) || (data1 === "quota.exceeded"))){
const err5 = {instancePath:instancePath+"/deny/" + i0,schemaPath:"#/$defs/reason/enum",keyword:"enum",params:{allowedValues: schema203.enum},message:"must be equal to one of the allowed values",schema:schema203.enum,parentSchema:schema203,data:data1};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
let i1 = data0.length;
let j0;
if(i1 > 1){
outer0:
for(;i1--;){
for(j0 = i1; j0--;){
if(func0(data0[i1], data0[j0])){
const err6 = {instancePath:instancePath+"/deny",schemaPath:"#/anyOf/1/properties/deny/anyOf/1/uniqueItems",keyword:"uniqueItems",params:{i: i1, j: j0},message:"must NOT have duplicate items (items ## "+j0+" and "+i1+" are identical)",schema:true,parentSchema:schema202.anyOf[1].properties.deny.anyOf[1],data:data0};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
break outer0;
}
}
}
}
}
else {
const err7 = {instancePath:instancePath+"/deny",schemaPath:"#/anyOf/1/properties/deny/anyOf/1/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema202.anyOf[1].properties.deny.anyOf[1].type,parentSchema:schema202.anyOf[1].properties.deny.anyOf[1],data:data0};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
var _valid1 = _errs9 === errors;
valid2 = valid2 || _valid1;
if(!valid2){
const err8 = {instancePath:instancePath+"/deny",schemaPath:"#/anyOf/1/properties/deny/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema202.anyOf[1].properties.deny.anyOf,parentSchema:schema202.anyOf[1].properties.deny,data:data0};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
else {
errors = _errs6;
if(vErrors !== null){
if(_errs6){
vErrors.length = _errs6;
}
else {
vErrors = null;
}
}
}
}
if(data.challenge !== undefined){
let data2 = data.challenge;
if(typeof data2 !== "string"){
const err9 = {instancePath:instancePath+"/challenge",schemaPath:"#/$defs/challenge/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema205.type,parentSchema:schema205,data:data2};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
}
else {
const err10 = {instancePath,schemaPath:"#/anyOf/1/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema202.anyOf[1].type,parentSchema:schema202.anyOf[1],data};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
var _valid0 = _errs2 === errors;
valid0 = valid0 || _valid0;
if(_valid0){
var props0 = true;
}
if(!valid0){
const err11 = {instancePath,schemaPath:"#/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema202.anyOf,parentSchema:schema202,data};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
else {
errors = _errs0;
if(vErrors !== null){
if(_errs0){
vErrors.length = _errs0;
}
else {
vErrors = null;
}
}
}
validate125.errors = vErrors;
evaluated0.props = props0;
return errors === 0;
}
validate125.evaluated = {"dynamicProps":true,"dynamicItems":false};


function validate106(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate106.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.name === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "name"},message:"must have required property '"+"name"+"'",schema:schema191.required,parentSchema:schema191,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.for_all === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "for_all"},message:"must have required property '"+"for_all"+"'",schema:schema191.required,parentSchema:schema191,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.when === undefined){
const err2 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "when"},message:"must have required property '"+"when"+"'",schema:schema191.required,parentSchema:schema191,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.then === undefined){
const err3 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "then"},message:"must have required property '"+"then"+"'",schema:schema191.required,parentSchema:schema191,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
for(const key0 in data){
if(!((((key0 === "name") || (key0 === "for_all")) || (key0 === "when")) || (key0 === "then"))){
const err4 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema191,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.name !== undefined){
let data0 = data.name;
if(typeof data0 === "string"){
if(func2(data0) < 1){
const err5 = {instancePath:instancePath+"/name",schemaPath:"#/properties/name/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema191.properties.name,data:data0};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/name",schemaPath:"#/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema191.properties.name.type,parentSchema:schema191.properties.name,data:data0};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.for_all !== undefined){
if(!(validate107(data.for_all, {instancePath:instancePath+"/for_all",parentData:data,parentDataProperty:"for_all",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate107.errors : vErrors.concat(validate107.errors);
errors = vErrors.length;
}
}
if(data.when !== undefined){
if(!(validate113(data.when, {instancePath:instancePath+"/when",parentData:data,parentDataProperty:"when",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate113.errors : vErrors.concat(validate113.errors);
errors = vErrors.length;
}
}
if(data.then !== undefined){
if(!(validate125(data.then, {instancePath:instancePath+"/then",parentData:data,parentDataProperty:"then",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate125.errors : vErrors.concat(validate125.errors);
errors = vErrors.length;
}
}
}
else {
const err7 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema191.type,parentSchema:schema191,data};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
validate106.errors = vErrors;
return errors === 0;
}
validate106.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema206 = {"description":"One call of one caller.","type":"object","properties":{"name":{"description":"What the test shows, in one sentence.","type":"string","minLength":1},"given":{"$ref":"#/$defs/given"},"when":{"$ref":"#/$defs/when"},"then":{"$ref":"#/$defs/then"}},"required":["name","given","when","then"],"additionalProperties":false};
const schema210 = {"description":"The call: at most one of `tool`, `resource`, `template` and `prompt`. `{}`: a request on an HTTP route.","type":"object","properties":{"tool":{"description":"tools/call of this tool.","type":"string"},"resource":{"description":"resources/read of this URI, or another `method` that acts on it.","type":"string"},"template":{"description":"completion/complete for a variable of this URI template.","type":"string"},"prompt":{"description":"prompts/get of this prompt, or another `method` that acts on it.","type":"string"},"arguments":{"description":"The arguments of the tool or prompt.","type":"object"},"method":{"description":"Another JSON-RPC method.","type":"string","minLength":1,"examples":["initialize","resources/subscribe"]}},"additionalProperties":false};
const schema207 = {"description":"The caller's token. `{}`: a valid token without further content.","type":"object","properties":{"scope":{"description":"The granted scopes: one, several separated by single spaces, or a list. Scopes that they imply by `scopes` of gateway.yaml are added.","type":["string","array"],"pattern":"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$","items":{"type":"string","pattern":"^[!#-\\[\\]-~]+$"},"examples":["read","read payments"]},"claims":{"description":"The other claims, as in the token.","type":"object","examples":[{"role":"trader"}]},"lifetime":{"description":"exp - iat, as 60s or 5m. Without it the token has neither claim, and every `max_lifetime` refuses it.","type":"string","pattern":"^[1-9][0-9]{0,8}(ms|s|m|h)$","examples":["60s","5m"]},"issuer":{"description":"The issuer of the token (`iss`). Default: the first of `authorization_servers`.","type":"string","minLength":1},"history":{"$ref":"#/$defs/history"}},"additionalProperties":false};
const schema208 = {"description":"The calls that were made before, for rules over time, in any order. They count whether or not the policy would allow them.","type":"array","items":{"$ref":"#/$defs/earlier_call"},"examples":[[{"tool":"approve","arguments":{"claim_id":7},"ago":"10m"}]]};
const schema209 = {"description":"A call that was made before: at most one of `tool`, `resource` and `prompt`, or a `method`.","type":"object","properties":{"tool":{"description":"tools/call of this tool.","type":"string"},"resource":{"description":"resources/read of this URI, or another `method` that acts on it.","type":"string"},"prompt":{"description":"prompts/get of this prompt, or another `method` that acts on it.","type":"string"},"arguments":{"description":"The arguments of the tool or prompt.","type":"object"},"method":{"description":"Another JSON-RPC method.","type":"string","minLength":1},"ago":{"title":"a duration such as 30s, 10m, 1h or 7d","description":"The time between this call and the call of the test, as 30s, 10m, 1h or 7d.","type":"string","pattern":"^(?:0|[1-9][0-9]{0,8})(?:ms|s|m|h|d)$","examples":["10m"]},"subject":{"description":"The subject that made the call, with the same issuer, client and claims otherwise. Default: the caller of the test.","type":"string","minLength":1},"outcome":{"description":"How the call ended. `answered` (default): without an error. `error`: with an error, or it never reached the upstream, so that it does not count. `unanswered`: it is in progress, or it reached the upstream and was not answered; it counts for `never_after` and `quota`, but not for `after`.","enum":["answered","error","unanswered"]}},"required":["ago"],"additionalProperties":false};
const pattern130 = new RegExp("^(?:0|[1-9][0-9]{0,8})(?:ms|s|m|h|d)$", "u");

function validate130(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate130.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(Array.isArray(data)){
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
let data0 = data[i0];
if(data0 && typeof data0 == "object" && !Array.isArray(data0)){
if(data0.ago === undefined){
const err0 = {instancePath:instancePath+"/" + i0,schemaPath:"#/$defs/earlier_call/required",keyword:"required",params:{missingProperty: "ago"},message:"must have required property '"+"ago"+"'",schema:schema209.required,parentSchema:schema209,data:data0};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
for(const key0 in data0){
if(!((((((((key0 === "tool") || (key0 === "resource")) || (key0 === "prompt")) || (key0 === "arguments")) || (key0 === "method")) || (key0 === "ago")) || (key0 === "subject")) || (key0 === "outcome"))){
const err1 = {instancePath:instancePath+"/" + i0,schemaPath:"#/$defs/earlier_call/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema209,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
if(data0.tool !== undefined){
let data1 = data0.tool;
if(typeof data1 !== "string"){
const err2 = {instancePath:instancePath+"/" + i0+"/tool",schemaPath:"#/$defs/earlier_call/properties/tool/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema209.properties.tool.type,parentSchema:schema209.properties.tool,data:data1};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data0.resource !== undefined){
let data2 = data0.resource;
if(typeof data2 !== "string"){
const err3 = {instancePath:instancePath+"/" + i0+"/resource",schemaPath:"#/$defs/earlier_call/properties/resource/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema209.properties.resource.type,parentSchema:schema209.properties.resource,data:data2};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data0.prompt !== undefined){
let data3 = data0.prompt;
if(typeof data3 !== "string"){
const err4 = {instancePath:instancePath+"/" + i0+"/prompt",schemaPath:"#/$defs/earlier_call/properties/prompt/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema209.properties.prompt.type,parentSchema:schema209.properties.prompt,data:data3};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data0.arguments !== undefined){
let data4 = data0.arguments;
if(!(data4 && typeof data4 == "object" && !Array.isArray(data4))){
const err5 = {instancePath:instancePath+"/" + i0+"/arguments",schemaPath:"#/$defs/earlier_call/properties/arguments/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema209.properties.arguments.type,parentSchema:schema209.properties.arguments,data:data4};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data0.method !== undefined){
let data5 = data0.method;
if(typeof data5 === "string"){
if(func2(data5) < 1){
const err6 = {instancePath:instancePath+"/" + i0+"/method",schemaPath:"#/$defs/earlier_call/properties/method/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema209.properties.method,data:data5};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/" + i0+"/method",schemaPath:"#/$defs/earlier_call/properties/method/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema209.properties.method.type,parentSchema:schema209.properties.method,data:data5};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data0.ago !== undefined){
let data6 = data0.ago;
if(typeof data6 === "string"){
if(!pattern130.test(data6)){
const err8 = {instancePath:instancePath+"/" + i0+"/ago",schemaPath:"#/$defs/earlier_call/properties/ago/pattern",keyword:"pattern",params:{pattern: "^(?:0|[1-9][0-9]{0,8})(?:ms|s|m|h|d)$"},message:"must match pattern \""+"^(?:0|[1-9][0-9]{0,8})(?:ms|s|m|h|d)$"+"\"",schema:"^(?:0|[1-9][0-9]{0,8})(?:ms|s|m|h|d)$",parentSchema:schema209.properties.ago,data:data6};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
else {
const err9 = {instancePath:instancePath+"/" + i0+"/ago",schemaPath:"#/$defs/earlier_call/properties/ago/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema209.properties.ago.type,parentSchema:schema209.properties.ago,data:data6};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data0.subject !== undefined){
let data7 = data0.subject;
if(typeof data7 === "string"){
if(func2(data7) < 1){
const err10 = {instancePath:instancePath+"/" + i0+"/subject",schemaPath:"#/$defs/earlier_call/properties/subject/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema209.properties.subject,data:data7};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
else {
const err11 = {instancePath:instancePath+"/" + i0+"/subject",schemaPath:"#/$defs/earlier_call/properties/subject/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema209.properties.subject.type,parentSchema:schema209.properties.subject,data:data7};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data0.outcome !== undefined){
let data8 = data0.outcome;
if(!(((data8 === "answered") || (data8 === "error")) || (data8 === "unanswered"))){
const err12 = {instancePath:instancePath+"/" + i0+"/outcome",schemaPath:"#/$defs/earlier_call/properties/outcome/enum",keyword:"enum",params:{allowedValues: schema209.properties.outcome.enum},message:"must be equal to one of the allowed values",schema:schema209.properties.outcome.enum,parentSchema:schema209.properties.outcome,data:data8};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
}
else {
const err13 = {instancePath:instancePath+"/" + i0,schemaPath:"#/$defs/earlier_call/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema209.type,parentSchema:schema209,data:data0};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
}
else {
const err14 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema208.type,parentSchema:schema208,data};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
validate130.errors = vErrors;
return errors === 0;
}
validate130.evaluated = {"items":true,"dynamicProps":false,"dynamicItems":false};


function validate129(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate129.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
for(const key0 in data){
if(!(((((key0 === "scope") || (key0 === "claims")) || (key0 === "lifetime")) || (key0 === "issuer")) || (key0 === "history"))){
const err0 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema207,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
}
if(data.scope !== undefined){
let data0 = data.scope;
if((typeof data0 !== "string") && (!(Array.isArray(data0)))){
const err1 = {instancePath:instancePath+"/scope",schemaPath:"#/properties/scope/type",keyword:"type",params:{type: schema207.properties.scope.type},message:"must be string,array",schema:schema207.properties.scope.type,parentSchema:schema207.properties.scope,data:data0};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(typeof data0 === "string"){
if(!pattern97.test(data0)){
const err2 = {instancePath:instancePath+"/scope",schemaPath:"#/properties/scope/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$"+"\"",schema:"^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$",parentSchema:schema207.properties.scope,data:data0};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(Array.isArray(data0)){
const len0 = data0.length;
for(let i0=0; i0<len0; i0++){
let data1 = data0[i0];
if(typeof data1 === "string"){
if(!pattern98.test(data1)){
const err3 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/properties/scope/items/pattern",keyword:"pattern",params:{pattern: "^[!#-\\[\\]-~]+$"},message:"must match pattern \""+"^[!#-\\[\\]-~]+$"+"\"",schema:"^[!#-\\[\\]-~]+$",parentSchema:schema207.properties.scope.items,data:data1};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
else {
const err4 = {instancePath:instancePath+"/scope/" + i0,schemaPath:"#/properties/scope/items/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema207.properties.scope.items.type,parentSchema:schema207.properties.scope.items,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
}
}
if(data.claims !== undefined){
let data2 = data.claims;
if(!(data2 && typeof data2 == "object" && !Array.isArray(data2))){
const err5 = {instancePath:instancePath+"/claims",schemaPath:"#/properties/claims/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema207.properties.claims.type,parentSchema:schema207.properties.claims,data:data2};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
if(data.lifetime !== undefined){
let data3 = data.lifetime;
if(typeof data3 === "string"){
if(!pattern101.test(data3)){
const err6 = {instancePath:instancePath+"/lifetime",schemaPath:"#/properties/lifetime/pattern",keyword:"pattern",params:{pattern: "^[1-9][0-9]{0,8}(ms|s|m|h)$"},message:"must match pattern \""+"^[1-9][0-9]{0,8}(ms|s|m|h)$"+"\"",schema:"^[1-9][0-9]{0,8}(ms|s|m|h)$",parentSchema:schema207.properties.lifetime,data:data3};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
else {
const err7 = {instancePath:instancePath+"/lifetime",schemaPath:"#/properties/lifetime/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema207.properties.lifetime.type,parentSchema:schema207.properties.lifetime,data:data3};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data.issuer !== undefined){
let data4 = data.issuer;
if(typeof data4 === "string"){
if(func2(data4) < 1){
const err8 = {instancePath:instancePath+"/issuer",schemaPath:"#/properties/issuer/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema207.properties.issuer,data:data4};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
else {
const err9 = {instancePath:instancePath+"/issuer",schemaPath:"#/properties/issuer/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema207.properties.issuer.type,parentSchema:schema207.properties.issuer,data:data4};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data.history !== undefined){
if(!(validate130(data.history, {instancePath:instancePath+"/history",parentData:data,parentDataProperty:"history",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate130.errors : vErrors.concat(validate130.errors);
errors = vErrors.length;
}
}
}
else {
const err10 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema207.type,parentSchema:schema207,data};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
validate129.errors = vErrors;
return errors === 0;
}
validate129.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};

const schema211 = {"title":"allow, shadow or { deny: REASON }","description":"`allow`; `{ deny: REASON }`, with `challenge` for the scopes in the challenge; `shadow`: allowed, but would be denied without `mode: shadow`.","anyOf":[{"enum":["allow","shadow"]},{"type":"object","properties":{"deny":{"$ref":"#/$defs/reason"},"challenge":{"$ref":"#/$defs/challenge"}},"required":["deny"],"additionalProperties":false}]};

function validate133(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate133.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
const _errs0 = errors;
let valid0 = false;
const _errs1 = errors;
if(!((data === "allow") || (data === "shadow"))){
const err0 = {instancePath,schemaPath:"#/anyOf/0/enum",keyword:"enum",params:{allowedValues: schema211.anyOf[0].enum},message:"must be equal to one of the allowed values",schema:schema211.anyOf[0].enum,parentSchema:schema211.anyOf[0],data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
var _valid0 = _errs1 === errors;
valid0 = valid0 || _valid0;
const _errs2 = errors;
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.deny === undefined){
const err1 = {instancePath,schemaPath:"#/anyOf/1/required",keyword:"required",params:{missingProperty: "deny"},message:"must have required property '"+"deny"+"'",schema:schema211.anyOf[1].required,parentSchema:schema211.anyOf[1],data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
for(const key0 in data){
if(!((key0 === "deny") || (key0 === "challenge"))){
const err2 = {instancePath,schemaPath:"#/anyOf/1/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema211.anyOf[1],data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
if(data.deny !== undefined){
let data0 = data.deny;
if(!((((((((((((((data0 === "scope.insufficient") || (data0 === "claim.denied")) || (data0 === "argument.denied")) || (data0 === "lifetime.exceeded")) || (data0 === "alternatives.exhausted")) || (data0 === "exclusion.matched")) || (data0 === "tool.unlisted")) || (data0 === "resource.unlisted")) || (data0 === "prompt.unlisted")) || (data0 === "method.unlisted")) || (data0 === "policy.error")) || (data0 === "history.missing")) || (data0 === "history.forbidden")) || (data0 === "quota.exceeded"))){
const err3 = {instancePath:instancePath+"/deny",schemaPath:"#/$defs/reason/enum",keyword:"enum",params:{allowedValues: schema203.enum},message:"must be equal to one of the allowed values",schema:schema203.enum,parentSchema:schema203,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
if(data.challenge !== undefined){
let data1 = data.challenge;
if(typeof data1 !== "string"){
const err4 = {instancePath:instancePath+"/challenge",schemaPath:"#/$defs/challenge/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema205.type,parentSchema:schema205,data:data1};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
}
else {
const err5 = {instancePath,schemaPath:"#/anyOf/1/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema211.anyOf[1].type,parentSchema:schema211.anyOf[1],data};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
var _valid0 = _errs2 === errors;
valid0 = valid0 || _valid0;
if(_valid0){
var props0 = true;
}
if(!valid0){
const err6 = {instancePath,schemaPath:"#/anyOf",keyword:"anyOf",params:{},message:"must match a schema in anyOf",schema:schema211.anyOf,parentSchema:schema211,data};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
else {
errors = _errs0;
if(vErrors !== null){
if(_errs0){
vErrors.length = _errs0;
}
else {
vErrors = null;
}
}
}
validate133.errors = vErrors;
evaluated0.props = props0;
return errors === 0;
}
validate133.evaluated = {"dynamicProps":true,"dynamicItems":false};


function validate128(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate128.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(data && typeof data == "object" && !Array.isArray(data)){
if(data.name === undefined){
const err0 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "name"},message:"must have required property '"+"name"+"'",schema:schema206.required,parentSchema:schema206,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
if(data.given === undefined){
const err1 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "given"},message:"must have required property '"+"given"+"'",schema:schema206.required,parentSchema:schema206,data};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
if(data.when === undefined){
const err2 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "when"},message:"must have required property '"+"when"+"'",schema:schema206.required,parentSchema:schema206,data};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
if(data.then === undefined){
const err3 = {instancePath,schemaPath:"#/required",keyword:"required",params:{missingProperty: "then"},message:"must have required property '"+"then"+"'",schema:schema206.required,parentSchema:schema206,data};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
for(const key0 in data){
if(!((((key0 === "name") || (key0 === "given")) || (key0 === "when")) || (key0 === "then"))){
const err4 = {instancePath,schemaPath:"#/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key0},message:"must NOT have additional properties",schema:false,parentSchema:schema206,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
}
if(data.name !== undefined){
let data0 = data.name;
if(typeof data0 === "string"){
if(func2(data0) < 1){
const err5 = {instancePath:instancePath+"/name",schemaPath:"#/properties/name/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema206.properties.name,data:data0};
if(vErrors === null){
vErrors = [err5];
}
else {
vErrors.push(err5);
}
errors++;
}
}
else {
const err6 = {instancePath:instancePath+"/name",schemaPath:"#/properties/name/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema206.properties.name.type,parentSchema:schema206.properties.name,data:data0};
if(vErrors === null){
vErrors = [err6];
}
else {
vErrors.push(err6);
}
errors++;
}
}
if(data.given !== undefined){
if(!(validate129(data.given, {instancePath:instancePath+"/given",parentData:data,parentDataProperty:"given",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate129.errors : vErrors.concat(validate129.errors);
errors = vErrors.length;
}
}
if(data.when !== undefined){
let data2 = data.when;
if(data2 && typeof data2 == "object" && !Array.isArray(data2)){
for(const key1 in data2){
if(!((((((key1 === "tool") || (key1 === "resource")) || (key1 === "template")) || (key1 === "prompt")) || (key1 === "arguments")) || (key1 === "method"))){
const err7 = {instancePath:instancePath+"/when",schemaPath:"#/$defs/when/additionalProperties",keyword:"additionalProperties",params:{additionalProperty: key1},message:"must NOT have additional properties",schema:false,parentSchema:schema210,data:data2};
if(vErrors === null){
vErrors = [err7];
}
else {
vErrors.push(err7);
}
errors++;
}
}
if(data2.tool !== undefined){
let data3 = data2.tool;
if(typeof data3 !== "string"){
const err8 = {instancePath:instancePath+"/when/tool",schemaPath:"#/$defs/when/properties/tool/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema210.properties.tool.type,parentSchema:schema210.properties.tool,data:data3};
if(vErrors === null){
vErrors = [err8];
}
else {
vErrors.push(err8);
}
errors++;
}
}
if(data2.resource !== undefined){
let data4 = data2.resource;
if(typeof data4 !== "string"){
const err9 = {instancePath:instancePath+"/when/resource",schemaPath:"#/$defs/when/properties/resource/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema210.properties.resource.type,parentSchema:schema210.properties.resource,data:data4};
if(vErrors === null){
vErrors = [err9];
}
else {
vErrors.push(err9);
}
errors++;
}
}
if(data2.template !== undefined){
let data5 = data2.template;
if(typeof data5 !== "string"){
const err10 = {instancePath:instancePath+"/when/template",schemaPath:"#/$defs/when/properties/template/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema210.properties.template.type,parentSchema:schema210.properties.template,data:data5};
if(vErrors === null){
vErrors = [err10];
}
else {
vErrors.push(err10);
}
errors++;
}
}
if(data2.prompt !== undefined){
let data6 = data2.prompt;
if(typeof data6 !== "string"){
const err11 = {instancePath:instancePath+"/when/prompt",schemaPath:"#/$defs/when/properties/prompt/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema210.properties.prompt.type,parentSchema:schema210.properties.prompt,data:data6};
if(vErrors === null){
vErrors = [err11];
}
else {
vErrors.push(err11);
}
errors++;
}
}
if(data2.arguments !== undefined){
let data7 = data2.arguments;
if(!(data7 && typeof data7 == "object" && !Array.isArray(data7))){
const err12 = {instancePath:instancePath+"/when/arguments",schemaPath:"#/$defs/when/properties/arguments/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema210.properties.arguments.type,parentSchema:schema210.properties.arguments,data:data7};
if(vErrors === null){
vErrors = [err12];
}
else {
vErrors.push(err12);
}
errors++;
}
}
if(data2.method !== undefined){
let data8 = data2.method;
if(typeof data8 === "string"){
if(func2(data8) < 1){
const err13 = {instancePath:instancePath+"/when/method",schemaPath:"#/$defs/when/properties/method/minLength",keyword:"minLength",params:{limit: 1},message:"must NOT have fewer than 1 characters",schema:1,parentSchema:schema210.properties.method,data:data8};
if(vErrors === null){
vErrors = [err13];
}
else {
vErrors.push(err13);
}
errors++;
}
}
else {
const err14 = {instancePath:instancePath+"/when/method",schemaPath:"#/$defs/when/properties/method/type",keyword:"type",params:{type: "string"},message:"must be string",schema:schema210.properties.method.type,parentSchema:schema210.properties.method,data:data8};
if(vErrors === null){
vErrors = [err14];
}
else {
vErrors.push(err14);
}
errors++;
}
}
}
else {
const err15 = {instancePath:instancePath+"/when",schemaPath:"#/$defs/when/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema210.type,parentSchema:schema210,data:data2};
if(vErrors === null){
vErrors = [err15];
}
else {
vErrors.push(err15);
}
errors++;
}
}
if(data.then !== undefined){
if(!(validate133(data.then, {instancePath:instancePath+"/then",parentData:data,parentDataProperty:"then",rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate133.errors : vErrors.concat(validate133.errors);
errors = vErrors.length;
}
}
}
else {
const err16 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "object"},message:"must be object",schema:schema206.type,parentSchema:schema206,data};
if(vErrors === null){
vErrors = [err16];
}
else {
vErrors.push(err16);
}
errors++;
}
validate128.errors = vErrors;
return errors === 0;
}
validate128.evaluated = {"props":true,"dynamicProps":false,"dynamicItems":false};


function validate105(data, {instancePath="", parentData, parentDataProperty, rootData=data, dynamicAnchors={}}={}){
let vErrors = null;
let errors = 0;
const evaluated0 = validate105.evaluated;
if(evaluated0.dynamicProps){
evaluated0.props = undefined;
}
if(evaluated0.dynamicItems){
evaluated0.items = undefined;
}
if(Array.isArray(data)){
if(data.length < 1){
const err0 = {instancePath,schemaPath:"#/minItems",keyword:"minItems",params:{limit: 1},message:"must NOT have fewer than 1 items",schema:1,parentSchema:schema190,data};
if(vErrors === null){
vErrors = [err0];
}
else {
vErrors.push(err0);
}
errors++;
}
const len0 = data.length;
for(let i0=0; i0<len0; i0++){
let data0 = data[i0];
const _errs2 = errors;
let valid2 = true;
const _errs3 = errors;
if(errors === _errs3){
if(data0 && typeof data0 == "object" && !Array.isArray(data0)){
let missing0;
if((data0.for_all === undefined) && (missing0 = "for_all")){
const err1 = {};
if(vErrors === null){
vErrors = [err1];
}
else {
vErrors.push(err1);
}
errors++;
}
}
else {
const err2 = {};
if(vErrors === null){
vErrors = [err2];
}
else {
vErrors.push(err2);
}
errors++;
}
}
var _valid0 = _errs3 === errors;
errors = _errs2;
if(vErrors !== null){
if(_errs2){
vErrors.length = _errs2;
}
else {
vErrors = null;
}
}
let ifClause0;
if(_valid0){
const _errs5 = errors;
if(!(validate106(data0, {instancePath:instancePath+"/" + i0,parentData:data,parentDataProperty:i0,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate106.errors : vErrors.concat(validate106.errors);
errors = vErrors.length;
}
var _valid0 = _errs5 === errors;
valid2 = _valid0;
if(valid2){
var props0 = true;
}
ifClause0 = "then";
}
else {
const _errs6 = errors;
if(!(validate128(data0, {instancePath:instancePath+"/" + i0,parentData:data,parentDataProperty:i0,rootData,dynamicAnchors}))){
vErrors = vErrors === null ? validate128.errors : vErrors.concat(validate128.errors);
errors = vErrors.length;
}
var _valid0 = _errs6 === errors;
valid2 = _valid0;
if(valid2){
if(props0 !== true){
props0 = true;
}
}
ifClause0 = "else";
}
if(!valid2){
const err3 = {instancePath:instancePath+"/" + i0,schemaPath:"#/items/if",keyword:"if",params:{failingKeyword: ifClause0},message:"must match \""+ifClause0+"\" schema",schema:schema190.items.if,parentSchema:schema190.items,data:data0};
if(vErrors === null){
vErrors = [err3];
}
else {
vErrors.push(err3);
}
errors++;
}
}
}
else {
const err4 = {instancePath,schemaPath:"#/type",keyword:"type",params:{type: "array"},message:"must be array",schema:schema190.type,parentSchema:schema190,data};
if(vErrors === null){
vErrors = [err4];
}
else {
vErrors.push(err4);
}
errors++;
}
validate105.errors = vErrors;
return errors === 0;
}
validate105.evaluated = {"items":true,"dynamicProps":false,"dynamicItems":false};

