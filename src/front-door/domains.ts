import type { IdentityProvider } from '../model/front-door.ts';

/** The provider of an address, by its suffix; undefined: none has it. */
export type ProviderOfAddress = (address: string) => IdentityProvider | undefined;

/**
 * Creates the choice of a provider. Only whole labels count: `acme.com` covers `x.acme.com`, and never `evilacme.com`.
 * The longest suffix wins.
 */
export function createProviderOfAddress(providers: Iterable<IdentityProvider>): ProviderOfAddress {
  const byDomain = new Map(
    [...providers].flatMap((provider) => provider.domains.map((each) => [each, provider] as const)),
  );
  return (address) => {
    const [, host] = /^[^@\s]+@([a-z0-9.-]+)$/.exec(address.trim().toLowerCase()) ?? [];
    const labels = host?.split('.') ?? [];
    return labels.map((_, index) => byDomain.get(labels.slice(index).join('.'))).find((found) => found !== undefined);
  };
}
