import { revisions } from '../../../src/core/model/mcp.ts';

/** The words of a text. */
export function listed(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** Texts with spaces, or none. */
const separated = (text: string): readonly string[] => text.split('|');

/** Methods, and texts that are not methods. */
export const methods = listed('GET POST PUT DELETE OPTIONS HEAD PATCH TRACE CONNECT get PROPFIND X');
/** Texts in the place of the version. */
export const versions = separated('HTTP/1.1|HTTP/1.0|HTTP/0.9|HTTP/2.0|HTTP/1.2|http/1.1|');
/** The paths of the routes, variants of them, and a path without a route. */
export const paths = listed(`
  /mcp /notes /demo/data /forwarded /public /socket /admin / /elsewhere /Admin /ADMIN/x /admin/x /Demo/data /mcp/
`);
/** The paths of the metadata that the gateway publishes. */
export const metadata = listed('/.well-known/oauth-protected-resource /.well-known/oauth-protected-resource/mcp');
/** Parts of paths on which parsers disagree. */
export const pieces = listed(`
  / // /. /.. /../ /./ .. . ; ;x=1 \\ ? # % * a A %2e %2E%2e %2f %5c %3b %00 %0d%0a %61dmin %25 %2561 %c3%a9 %20 %7f
  \x80 %e2%84%aa %ef%bc%8f %ef%bc%8e %c0%af /admin /Admin http://gateway.test/admin [::1] @ ?access_token=x
  ?a=1&b=/../admin ?%61ccess_token=x /mcp //evil.test/ /u/admin
`).concat(' ', '\t');
/** Credentials. The target replaces those in braces. */
export const tokens = separated('{{alice}}|{{bob}}|{{carol}}|{{expired}}|{{elsewhere}}|opaque-unknown|a.b.c|');
/** Texts before a token. */
export const schemes = separated('Bearer |bearer |BEARER  |DPoP |Basic |Bearer|Bearer\t|');
/** The host of the gateway, and others. */
export const hosts = separated('gateway.test|gateway.test:80|GATEWAY.test|evil.test|localhost|127.0.0.1:1|[::1]||a b');
/** Transfer codings. */
export const codings = separated('chunked|Chunked|identity|gzip, chunked|chunked, chunked|xchunked|chunked;q=1|');
/** Lengths, and texts that some parsers take for lengths. */
export const lengths = separated('0|1|5|+5|-1|00|5, 5|0x5|18446744073709551616| 3|3 |1e1|');
/** Values of `Connection`. */
export const connections = separated(
  'close|keep-alive|upgrade|content-length|te|transfer-encoding|x-forwarded-for|host|,|x-other|traceparent|' +
    'Upgrade, x-auth-subject|close, authorization|mcp-method, mcp-name',
);
/** Media types. */
export const types = separated(
  'application/json|APPLICATION/JSON|application/json;charset=utf-16|text/plain|application/x-www-form-urlencoded|' +
    'multipart/form-data|application/json; charset=utf-8|application/json, text/plain|',
);
/** Fields that clients must not send to an upstream, and fields that decisions depend on. */
export const claimed = listed(`
  X-Auth-Subject x_auth_subject X-Auth_Client X.Auth.Subject x-auth-subject X-Forwarded-For X-Forwarded-Host
  X_Forwarded_Proto Forwarded X-Original-URL X-Rewrite-URL X-Real-IP X-Remote-User X-HTTP-Method-Override
  X-Method-Override Client-Cert X-Request-Id True-Client-IP Remote_User Authorization Proxy-Authorization DPoP Host
  Content-Length Transfer_Encoding Content_Length Content-Type Content_Type Mcp_Name Mcp-Session-Id Cookie TE
  Trailer Keep-Alive Upgrade HTTP2-Settings X-Other Last-Event-ID traceparent tracestate Origin Expect Range Accept
`);
/** Values of fields. */
export const values = listed(`
  root bob 127.0.0.1 evil.test DELETE /admin application/json chunked 5 a,b a;b " \\" \x80\xff =?base64?Z2V0X3g=?=
  h2c websocket 100-continue get_prices 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 http://evil.test
  null http://gateway.test
`).concat('', 'x'.repeat(300));
/** Revisions of MCP. */
export const versionsOfMcp = [...[...revisions.keys()].toReversed(), '2099-01-01', ''];
/** Values of `Mcp-Name`. */
export const names = listed(
  'get_prices transfer_funds prices://gold summary delete_all =?base64?Z2V0X3ByaWNlcw==?= t1',
);
