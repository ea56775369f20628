import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { GatewayKeys } from '../../../schema/validators.js';
import type { Field } from '../../core/config/field.ts';
import type { Files } from '../../core/config/files.ts';
import { certificates, hostName, listRemedy, network, reject } from '../../core/config/values.ts';
import { percentDecoded } from '../../core/lib/http/path-flaw.ts';
import { quoted } from '../../core/lib/wording.ts';
import type { ReadFiles } from '../capability.ts';
import { type EgressSettings, egressSettings } from './slot.ts';

/** Reads `egress` and the file that it names. Problems are reported to the fields. @param base Of `gateway.yaml`. */
export async function readEgress(root: Field<GatewayKeys>, base: string, files: Files): Promise<ReadFiles> {
  const field = root.get('egress');
  const place = field.get('ca');
  const file = place.text();
  const path = file === undefined ? undefined : resolve(base, file);
  const { text, fault = 'does not exist' } = path === undefined ? {} : await files.text(path);
  const ca = place.read(() => (text === undefined ? reject(`names a file that ${fault}`) : certificates(text)));
  const proxy = field.get('proxy').read(proxyUrl);
  const except = field.get('except').list(exception);
  return {
    entry: proxy && egressSettings.with({ proxy, except, ca } satisfies EgressSettings),
    files: path === undefined ? [] : [path],
  };
}

/** The URL of a proxy: `http://user:password@proxy.internal:3128`. */
export function proxyUrl(text: string): URL {
  if (/^socks/i.test(text))
    reject('is the URL of a SOCKS proxy, which is not supported', 'name an HTTP proxy, http://HOST:PORT');
  if (!/^https?:\/\/[^/]/.test(text) || /[^\x21-\x7E]|\\/.test(text) || !URL.canParse(text))
    reject(
      'is not the http(s) URL of a proxy: begin it with http://, and percent-encode special characters in the password',
    );
  const url = new URL(text);
  if (url.pathname !== '/' || /[?#]/.test(text))
    reject('has a path, query or fragment: percent-encode special characters in the password');
  if ([url.username, url.password].some((part) => percentDecoded(part) === undefined))
    reject('has a user or password that is not percent-encoded');
  return url;
}

function exception(text: string): string {
  if (/[\s,]/.test(text)) reject('is not one exception', listRemedy(text));
  if (text.startsWith('*.')) reject('has a *', `write ${quoted(text.slice(1))} for all names below it`);
  if (isIP(text.split('/', 1)[0] ?? '') !== 0) return network(text);
  const name = text.replace(/^\./, '');
  if (/[/:*]/.test(name) || name === '')
    reject('is neither a name, .name for all names below it, nor a network such as 10.0.0.0/8');
  return (text.startsWith('.') ? '.' : '') + hostName(name);
}
