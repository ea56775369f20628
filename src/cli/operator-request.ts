import { reachableAt } from '../config/front-door.ts';
import { load } from '../config/load.ts';
import { printable } from '../lib/wording.ts';
import { Failure } from './terminal.ts';

/** Holds the token of the admin listener, where the configuration of the gateway is elsewhere. */
const TOKEN_VARIABLE = 'SALLYPORT_ADMIN_TOKEN';

/** The admin listener of a running gateway, and the token that its operator has. */
export interface OperatorAccess {
  readonly program: string;
  readonly url: string;
  readonly token: string;
}

/**
 * The access of a command to the running gateway: at `--admin`, or at `admin` of the configuration.
 *
 * @throws {ConfigError} {@link Failure}
 */
export async function operatorAccess(
  command: string,
  { config: file, admin }: { readonly config: string; readonly admin: string | undefined },
): Promise<OperatorAccess> {
  const program = `sallyport ${command}`;
  const { config } = await load(file);
  const token = process.env[TOKEN_VARIABLE] ?? config.admin?.token;
  if (token === undefined)
    throw new Failure(`there is no admin token: set admin.token in ${file}, or ${TOKEN_VARIABLE}`, program);
  const url = admin ?? (config.admin && reachableAt(config.admin.listen));
  if (url === undefined) throw new Failure('admin is off: the gateway has no listener for this command', program);
  return { program, url, token };
}

/**
 * Asks the running gateway: POST with a body, else GET.
 *
 * @throws {Failure} for no answer, and for any other than a success.
 */
export async function askGateway(
  { program, url, token }: OperatorAccess,
  path: string,
  body?: object,
): Promise<Response> {
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
    const why = cause instanceof Error ? cause.message : String(error);
    throw new Failure(`${address} does not answer: ${why}`, program);
  }
  if (response.ok) return response;
  throw new Failure(`${address} answers ${response.status}: ${printable((await response.text()).trim())}`, program);
}
