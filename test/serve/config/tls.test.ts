import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { load } from '../../../src/serve/config/load.ts';
import { ConfigError } from '../../../src/core/config/problems.ts';
import { certificate, pem } from '../../support/certificates.ts';
import { casesOf } from './edits.ts';
import { base, edited, folderWith, loaded, refusals } from './folder.ts';

const names = ['server', 'server-key', 'renewed', 'renewed-key', 'encrypted-key', 'expired', 'expired-key', 'ca'];
const files = Object.fromEntries(names.map((name) => [`tls/${name}.pem`, pem(name)]));
const https = edited(['http://127.0.0.1:8080', 'https://127.0.0.1:8080']);
const pair = 'cert: tls/server.pem, key: tls/server-key.pem';
/** {@link https} with `tls`, on line 13. */
const tls = (members: string): string => `${https}tls: { ${members} }\n`;

describe('tls', () => {
  test('resolves file names relative to gateway.yaml', async () => {
    const folder = await folderWith({ yaml: tls(pair), files });
    const { config } = await load(join(folder, 'gateway.yaml'), {});
    expect(config.tls).toEqual({
      cert: join(folder, 'tls/server.pem'),
      key: join(folder, 'tls/server-key.pem'),
      clientCa: undefined,
    });
  });

  test('accepts absolute paths, placeholders and the word any', async () => {
    const yaml = tls('cert: "${env:TLS}/server.pem", key: "${env:TLS}/server-key.pem", client_ca: "${env:CA:-any}"');
    const env = { TLS: certificate('server').replace('/server.pem', '') };
    expect((await loaded({ yaml, env })).tls).toEqual({
      cert: certificate('server'),
      key: certificate('server-key'),
      clientCa: 'any',
    });
    expect((await loaded({ yaml, env: { ...env, CA: certificate('ca') } })).tls?.clientCa).toBe(certificate('ca'));
  });

  test('is off by default', async () => {
    expect((await loaded({ yaml: base })).tls).toBeUndefined();
  });

  test('accepts a certificate with its key and its chain in one file', async () => {
    const yaml = tls('cert: both.pem, key: both.pem');
    const both = pem('server') + pem('ca') + pem('server-key');
    expect(await refusals({ yaml, files: { 'both.pem': both } })).toEqual([]);
  });

  const damaged = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
  test.each(
    casesOf(`
{  }
  :13:6: tls: missing key: cert
  :13:6: tls: missing key: key
{ ${pair}, ca: x } → :13:55: tls.ca: unknown key; accepted: …
{ cert: a.pem, key: b.pem, client_ca: c.pem }
  :13:14: tls.cert: "a.pem" does not exist
  :13:26: tls.key: "b.pem" does not exist
  :13:44: tls.client_ca: "c.pem" does not exist
{ cert: tls, key: tls/server-key.pem } → :13:14: tls.cert: "tls" is not a file
{ cert: tls/server-key.pem, key: tls/server.pem }
  :13:14: tls.cert: "tls/server-key.pem" holds no PEM certificate
  :13:39: tls.key: "tls/server.pem" holds no PEM private key
{ cert: tls/server.pem, key: tls/renewed-key.pem }
  :13:35: tls.key: "tls/renewed-key.pem" is not the key of the certificate (the first one in its file)
{ cert: tls/server.pem, key: tls/encrypted-key.pem }
  :13:35: tls.key: "tls/encrypted-key.pem" is encrypted: a key without passphrase is needed
{ cert: tls/expired.pem, key: tls/expired-key.pem }
  :13:14: tls.cert: "tls/expired.pem" expired at 2020-01-02T00:00:00.000Z
{ ${pair}, client_ca: tls/server-key.pem } → :13:66: tls.client_ca: "tls/server-key.pem" holds no PEM certificate
{ cert: damaged.pem, key: tls/server-key.pem } → :13:14: tls.cert: "damaged.pem" holds a damaged certificate
`),
  )('refuses %s', async (members, lines) => {
    const yaml = `${https}tls: ${members}\n`;
    const found = await refusals({ yaml, files: { ...files, 'damaged.pem': damaged } });
    expect(found).toEqual(lines.map((line) => `gateway.yaml${line}`));
  });

  test('refuses what is published as http', async () => {
    expect(await refusals({ yaml: `${base}tls: { ${pair} }\n`, files })).toEqual([
      'gateway.yaml:1:13: public_url: "http://127.0.0.1:8080" is not https, which tls requires',
    ]);
  });

  test('does not show a key that was written in the place of its file name', async () => {
    const key = pem('server-key');
    for (const yaml of [
      `${https}tls:\n  cert: tls/server.pem\n  key: |\n    ${key.replaceAll('\n', '\n    ')}\n`,
      tls('cert: tls/server.pem, key: "${file:tls/server-key.pem}"'),
    ]) {
      const lines = await refusals({ yaml, files });
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(/tls\.key: .*(does not exist|cannot be read)/);
      for (const line of key.split('\n').slice(1, -2)) expect(lines.join()).not.toContain(line.slice(0, 20));
    }
  });

  test('the loader watches the files of tls only while they have problems', async () => {
    const folder = await folderWith({ yaml: tls('cert: a.pem, key: b.pem'), files });
    const error: unknown = await load(join(folder, 'gateway.yaml'), {}).catch((found: unknown) => found);
    expect((error as ConfigError).files).toEqual(
      expect.arrayContaining([join(folder, 'a.pem'), join(folder, 'b.pem')]),
    );
    const good = await folderWith({ yaml: tls(pair), files });
    const { files: watched } = await load(join(good, 'gateway.yaml'), {});
    expect(watched.filter((file) => file.endsWith('.pem'))).toEqual([]);
  });
});
