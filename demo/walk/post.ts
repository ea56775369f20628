import { z } from 'zod';

const metadata = z.object({ token_endpoint: z.url(), revocation_endpoint: z.url() });

/** Posts a form to an endpoint of an authorization server, which its metadata name. */
export async function post(
  issuer: string,
  endpoint: 'token_endpoint' | 'revocation_endpoint',
  form: Readonly<Record<string, string>>,
): Promise<Response> {
  const published = await fetch(`${issuer}/.well-known/oauth-authorization-server`);
  const { [endpoint]: url } = metadata.parse(await published.json());
  return fetch(url, { method: 'POST', body: new URLSearchParams(form) });
}
