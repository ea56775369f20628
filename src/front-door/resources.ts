import { errors } from 'oidc-provider';
import type { Config } from '../model/config.ts';
import { FRONT_DOOR } from '../model/front-door.ts';

/** The resources that the front door issues tokens for: those of the routes that trust it. */
export interface Resources {
  /** The `aud` of the resource that an indicator names, as the route wants it. Throws `invalid_target`. */
  audienceOf(indicator: string): string;
  /** The resource of a request without `resource`: that of the only MCP route. Throws `invalid_target` otherwise. */
  default(): string;
  /** The scopes of a request without `scope`: what the policy of the resource asks of every caller. */
  defaultScope(indicator: unknown): string;
}

/** Collects the resources of `config`. */
export function createResources({ routes, publicUrl }: Pick<Config, 'routes' | 'publicUrl'>): Resources {
  const trusting = routes.filter(({ authorizationServers }) =>
    authorizationServers.some(({ name }) => name === FRONT_DOOR),
  );
  const byUrl = new Map<string, { readonly audience: string; readonly scope: string }>();
  for (const { path, audiences, policy } of trusting) {
    const scope = (policy?.scope ?? []).join(' ');
    for (const audience of audiences) byUrl.set(canonical(audience), { audience, scope });
    // RFC 8707 §2: clients send what the metadata of the resource says, its URL.
    const url = canonical(publicUrl + path);
    byUrl.set(url, byUrl.get(url) ?? { audience: audiences[0] ?? '', scope });
  }
  const [only, ...others] = trusting.filter(({ protocol }) => protocol === 'mcp');
  const byDefault = others.length === 0 ? only?.audiences[0] : undefined;
  return {
    audienceOf(indicator) {
      const resource = byUrl.get(canonical(indicator));
      if (resource === undefined) throw new errors.InvalidTarget('resource is not one of this authorization server');
      return resource.audience;
    },
    default() {
      if (byDefault === undefined)
        throw new errors.InvalidTarget('resource is missing: name the one that the token is for');
      return byDefault;
    },
    defaultScope(indicator) {
      const resource = typeof indicator === 'string' ? indicator : byDefault;
      return (resource === undefined ? undefined : byUrl.get(canonical(resource))?.scope) ?? '';
    },
  };
}

/** The official clients write an indicator as `new URL(…).href`, which gives a bare origin a slash. */
function canonical(indicator: string): string {
  return URL.parse(indicator)?.href ?? indicator;
}
