import type { Call } from '../../model/call.ts';
import type { Config } from '../../model/config.ts';
import { answer } from './answer.ts';
import { type Publish, sendDocument } from './publish.ts';

/** The well-known parts before the path of an issuer, RFC 8414 §3.1. OpenID's is inserted too by MCP clients. */
const wellKnown = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'] as const;

/**
 * Creates the answers with the metadata of the front door, where its issuer is a path below the public origin: clients
 * look for them at the root of that origin, which is the gateway's.
 *
 * @param metadata Fetches the document from the front door; undefined: there is none.
 */
export function createFrontDoorMetadata(
  { frontDoor, publicUrl, routes }: Pick<Config, 'frontDoor' | 'publicUrl' | 'routes'>,
  metadata: (() => Promise<object>) | undefined,
): Publish {
  const issuer = frontDoor?.issuer;
  if (metadata === undefined || issuer?.startsWith(`${publicUrl}/`) !== true) return () => false;
  // Some clients drop the path of an issuer. What a public route publishes there comes first.
  const isOpen = routes.some(({ public: open, path }) => open && (path === '/' || isWithin(wellKnown[0], path)));
  const suffixes = [issuer.slice(publicUrl.length), ...(isOpen ? [] : [''])];
  const paths = new Set(wellKnown.flatMap((part) => suffixes.map((suffix) => part + suffix)));
  return (call) => {
    if (!paths.has(call.path)) return false;
    void send(call, metadata);
    return true;
  };
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Never rejects. */
async function send(call: Call, metadata: () => Promise<object>): Promise<void> {
  let document: Buffer;
  try {
    document = Buffer.from(JSON.stringify(await metadata()));
  } catch {
    answer(call, 503, { 'Access-Control-Allow-Origin': '*', 'Retry-After': '1' });
    return;
  }
  sendDocument(call, 'application/json', document);
}
