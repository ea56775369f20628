import { load } from '../config/load.ts';
import { printable } from '../lib/wording.ts';
import type { Config } from '../model/config.ts';
import { reportProblems } from './exit.ts';

/** Holds the token of the admin listener, where the configuration of the gateway is elsewhere. */
const TOKEN_VARIABLE = 'SALLYPORT_ADMIN_TOKEN';

/** The admin listener of a running gateway, and the token that its operator has. */
export interface OperatorAccess {
  readonly url: string;
  readonly token: string;
}

/** A request that an operator cannot make, or that the gateway refused, in one line; `''` if it was reported. */
export class OperatorFault extends Error {
  override readonly name = 'OperatorFault';
}

/**
 * The access of a command to the running gateway.
 *
 * @param admin The URL of its admin listener; default: `admin` of the configuration.
 * @throws {OperatorFault}
 */
export async function operatorAccess(file: string, admin: string | undefined): Promise<OperatorAccess> {
  let config: Config;
  try {
    ({ config } = await load(file));
  } catch (error) {
    reportProblems(file, error);
    throw new OperatorFault('');
  }
  const token = process.env[TOKEN_VARIABLE] ?? config.admin?.token;
  if (token === undefined)
    throw new OperatorFault(`there is no admin token: set admin.token in ${file}, or ${TOKEN_VARIABLE}`);
  const url = admin ?? (config.admin && urlOf(config.admin.listen));
  if (url === undefined) throw new OperatorFault('admin is off: the gateway has no listener for this command');
  return { url, token };
}

/**
 * Asks the running gateway: POST with a body, else GET.
 *
 * @throws {OperatorFault} for no answer, and for any other than a success.
 */
export async function askGateway({ url, token }: OperatorAccess, path: string, body?: object): Promise<Response> {
  const address = url + path;
  let response: Response;
  try {
    response = await fetch(address, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      redirect: 'error',
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    const { cause } = error as Error;
    throw new OperatorFault(`${address} does not answer: ${cause instanceof Error ? cause.message : String(error)}`);
  }
  if (response.ok) return response;
  throw new OperatorFault(`${address} answers ${response.status}: ${printable((await response.text()).trim())}`);
}

function urlOf({ host, port }: { readonly host: string; readonly port: number }): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
