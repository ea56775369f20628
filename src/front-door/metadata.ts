import type { FrontDoor } from '../model/front-door.ts';
import type { ScopeRules } from './scope-rules.ts';

/** The members of RFC 8414 §2 that oidc-provider cannot know. */
export interface MetadataRules {
  /** Changes the document that oidc-provider is about to publish. */
  (document: Record<string, unknown>): void;
}

/**
 * Creates the rules. The front door publishes only scopes that give access: `openid` works and means nothing, and
 * `offline_access` does not exist: the client decides on refresh tokens.
 */
export function createMetadataRules({ clients, assertions }: FrontDoor, scopes: ScopeRules): MetadataRules {
  const refreshes = clients.refresh || [...clients.registered.values()].some(({ refresh }) => refresh);
  return (document) => {
    document['scopes_supported'] = scopes.all.split(' ');
    const grants = document['grant_types_supported'];
    if (!refreshes && Array.isArray(grants)) {
      document['grant_types_supported'] = grants.filter((grant) => grant !== 'refresh_token');
    }
    if (assertions.size > 0) {
      // MCP enterprise-managed authorization: clients look for the profile before they ask for an assertion.
      document['authorization_grant_profiles_supported'] = ['urn:ietf:params:oauth:grant-profile:id-jag'];
    }
  };
}
