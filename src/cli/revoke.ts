import { createInterface } from 'node:readline/promises';
import { load } from '../config/load.ts';
import { printable } from '../lib/wording.ts';
import type { Config } from '../model/config.ts';
import { type ExitCode, print, reportProblems, UsageError } from './exit.ts';

/** The options of `revoke`. */
export interface RevokeOptions {
  readonly config: string;
  readonly subject: string | undefined;
  readonly issuer: string | undefined;
  readonly email: string | undefined;
  readonly list: boolean;
  readonly yes: boolean;
  readonly admin: string | undefined;
}

/** Holds the token of the admin listener, where the configuration of the gateway is elsewhere. */
const TOKEN_VARIABLE = 'SALLYPORT_ADMIN_TOKEN';

/**
 * `sallyport revoke`: ends the rights of a person at a running gateway, or lists what it keeps.
 *
 * @throws {UsageError}
 */
export async function revoke(options: RevokeOptions): Promise<ExitCode> {
  const { subject, issuer, email, list, yes } = options;
  const isPerson = subject !== undefined && issuer !== undefined;
  if (
    [isPerson, email !== undefined, list].filter(Boolean).length !== 1 ||
    (!isPerson && (subject ?? issuer) !== undefined)
  )
    throw new UsageError('write --subject S --issuer I, --email E, or --list');
  let config: Config;
  try {
    ({ config } = await load(options.config));
  } catch (error) {
    return reportProblems(options.config, error);
  }
  const token = process.env[TOKEN_VARIABLE] ?? config.admin?.token;
  if (token === undefined)
    return fail(`there is no admin token: set admin.token in ${options.config}, or ${TOKEN_VARIABLE}`);
  const { admin } = config;
  const address = options.admin ?? (admin && urlOf(admin.listen));
  if (address === undefined) return fail('admin is off: the gateway has no listener for this command');
  const who =
    email === undefined ? `the subject ${printable(subject ?? '')} of ${printable(issuer ?? '')}` : printable(email);
  if (!list && !yes && !(await isConfirmed(`End all rights of ${who} now?`)))
    return fail('not revoked: answer y, or write --yes');
  return await ask(`${address}/revocations`, token, list ? undefined : { subject, issuer, email });
}

async function ask(url: string, token: string, body: object | undefined): Promise<ExitCode> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  let response: Response;
  try {
    response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      redirect: 'error',
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    const { cause } = error as Error;
    return fail(`${url} does not answer: ${cause instanceof Error ? cause.message : String(error)}`);
  }
  if (!response.ok) return fail(`${url} answers ${response.status}: ${printable((await response.text()).trim())}`);
  if (body !== undefined) return print('revoked\n');
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) process.stdout.write(decoder.decode(chunk, { stream: true }));
  return 0;
}

/** Asks on the terminal; without one, nothing is confirmed. */
async function isConfirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`${question} [y/N] `);
  terminal.close();
  return /^y(?:es)?$/i.test(answer.trim());
}

function urlOf({ host, port }: { readonly host: string; readonly port: number }): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

function fail(why: string): ExitCode {
  process.stderr.write(`sallyport revoke: ${why}\n`);
  return 1;
}
