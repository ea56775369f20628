import { printable } from '../core/lib/wording.ts';
import type { OperatorAccess } from '../capabilities/command.ts';
import { Failure } from '../capabilities/terminal.ts';
import { reachableAt } from '../serve/config/front-door.ts';
import { loadAdmin } from '../serve/config/load.ts';

/** Holds the token of the admin listener, where the configuration of the gateway is elsewhere. */
const TOKEN_VARIABLE = 'SALLYPORT_ADMIN_TOKEN';

interface Listener {
  readonly program: string;
  readonly url: string;
  readonly token: string;
}

/**
 * The access of an operator to a running gateway, by its admin listener.
 *
 * @param command For messages.
 * @throws {Failure} without a token, or without a listener.
 */
export async function operatorAccess(
  command: string,
  options: { readonly config: string; readonly admin: string | undefined },
): Promise<OperatorAccess> {
  const listener = await listenerOf(command, options);
  return {
    program: listener.program,
    answer: (path, body) => gatewayAnswer(listener, path, { body }),
    ask: async (path, body) => successOf(await gatewayAnswer(listener, path, { body }), listener),
    delete: async (path) => successOf(await gatewayAnswer(listener, path, { method: 'DELETE' }), listener),
    success: (response) => successOf(response, listener),
  };
}

async function listenerOf(
  command: string,
  { config: file, admin }: { readonly config: string; readonly admin: string | undefined },
): Promise<Listener> {
  const program = `sallyport ${command}`;
  const ownToken = process.env[TOKEN_VARIABLE];
  // In an emergency, no other part of the configuration must be in the way.
  if (admin !== undefined && ownToken !== undefined) return { program, url: admin, token: ownToken };
  const settings = await loadAdmin(file);
  const token = ownToken ?? settings?.token;
  if (token === undefined)
    throw new Failure(
      `there is no admin token: set admin.token in ${file}, or ${TOKEN_VARIABLE}; the gateway and this command need it`,
      program,
    );
  const url = admin ?? (settings && reachableAt(settings.listen));
  if (url === undefined) throw new Failure('admin is off: the gateway has no listener for this command', program);
  return { program, url, token };
}

interface Question {
  readonly body?: object | undefined;
  /** Default: GET, or POST with a body. */
  readonly method?: 'DELETE';
}

async function gatewayAnswer(
  { program, url, token }: Listener,
  path: string,
  { body, method }: Question,
): Promise<Response> {
  const address = url + path;
  try {
    return await fetch(address, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
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
    throw new Failure(`${address} does not answer: ${why}: start the gateway, or name it by --admin URL`, program);
  }
}

async function successOf(response: Response, { program }: Listener): Promise<Response> {
  if (response.ok) return response;
  const lines = (await response.text()).trim().split(/\r?\n/);
  throw new Failure(`${response.url} answers ${response.status}: ${lines.map(printable).join('\n')}`, program);
}
