import { z } from 'zod';

import { PlainError } from '../plain-error.ts';
import type { Refused } from './expect.ts';

/** A running gateway with the demo's configuration, and its expected refusals. */
export interface Deployment {
  readonly gatewayUrl: string;
  readonly mcpUrl: URL;
  /** The URL of the protected resource metadata. */
  readonly metadataUrl: URL;
  /** The authorization server that the gateway names. */
  readonly issuer: string;
  readonly apiAudience: string;
  /** The refusal of a request to the MCP server without a valid token. */
  readonly unauthorized: Refused;
  /** The refusal of a request to the MCP server without the scope of `transfer_funds`. */
  readonly insufficientScope: Refused;
}

/**
 * Reads from the gateway's metadata which authorization server it trusts.
 *
 * @throws {PlainError} if no such gateway answers.
 */
export async function findDeployment(gatewayUrl: string): Promise<Deployment> {
  const metadataUrl = new URL('/.well-known/oauth-protected-resource/mcp', gatewayUrl);
  const response = await fetch(metadataUrl).catch((cause: unknown) => {
    throw new PlainError(`No server answers at ${gatewayUrl}`, { cause });
  });
  if (!response.ok)
    throw new PlainError(`${metadataUrl.href} answers ${response.status}: is the demo's gateway.yaml loaded?`);
  const { authorization_servers: issuers } = metadata.parse(await response.json());
  return {
    gatewayUrl,
    mcpUrl: new URL('/mcp', gatewayUrl),
    metadataUrl,
    issuer: issuers[0],
    apiAudience: 'https://api.demo.example',
    unauthorized: {
      status: 401,
      challenge: `Bearer error="invalid_token", scope="read", resource_metadata="${metadataUrl.href}"`,
    },
    insufficientScope: {
      status: 403,
      challenge: `Bearer error="insufficient_scope", scope="read payments", resource_metadata="${metadataUrl.href}"`,
    },
  };
}

const metadata = z.object({ authorization_servers: z.tuple([z.string()], z.string()) });
