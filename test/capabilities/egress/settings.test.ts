import { describe, expect, test } from 'vitest';
import { egressSettings } from '../../../src/capabilities/egress/slot.ts';
import { pem } from '../../support/certificates.ts';
import { base, loaded, refusals, warningsIn } from '../../serve/config/folder.ts';

const withEgress = (egress: string): string => `${base}egress: ${egress}\n`;

test('reads the proxy, what is reached past it, and authorities', async () => {
  const yaml = withEgress(
    '{ proxy: "${env:PROXY}", except: [IDP.internal, .corp, 10.0.0.0/8, "2001:db8::1"], ca: ca.pem }',
  );
  const env = { PROXY: 'http://gateway:s3cr3t%2Fword@proxy.internal:3128' };
  const config = await loaded({ yaml, files: { 'ca.pem': pem('ca') }, env });
  expect(egressSettings.of(config)).toEqual({
    proxy: new URL(env.PROXY),
    except: ['idp.internal', '.corp', '10.0.0.0/8', '2001:db8::1'],
    ca: pem('ca'),
  });
});

describe('refuses', () => {
  test.for([
    ['{}', 'egress: missing key: proxy'],
    ['{ proxy: "socks5://u:s3cr3t-w@proxy:1080" }', 'SOCKS proxy, which is not supported'],
    ['{ proxy: proxy:3128 }', 'egress.proxy: '],
    ['{ proxy: "http://proxy:3128/path" }', 'has a path, query or fragment'],
    ['{ proxy: "http://u:s3cr3t-w#rd@proxy:3128" }', 'percent-encode special characters'],
    ['{ proxy: "http://u:s3cr3t-w%zz@proxy:3128" }', 'has a user or password that is not percent-encoded'],
    ['{ proxy: "http://proxy", except: ["*.corp"] }', 'write ".corp"'],
    ['{ proxy: "http://proxy", except: ["idp:443"] }', 'is neither a name, .name'],
    ['{ proxy: "http://proxy", except: ["https://idp"] }', 'is neither a name, .name'],
    ['{ proxy: "http://proxy", except: ["."] }', 'is neither a name, .name'],
    ['{ proxy: "http://proxy", except: ["10.1.2.3/8"] }', 'has bits beyond its prefix'],
    ['{ proxy: "http://proxy", except: [a, a] }', 'egress.except'],
    ['{ proxy: "http://proxy", ca: nowhere.pem }', 'names a file that does not exist'],
    ['{ proxy: "http://proxy", ca: gateway.yaml }', 'names a file without a certificate in PEM'],
  ] as const)('%s', async ([egress, message]) => {
    const problems = await refusals({ yaml: withEgress(egress) });
    expect(problems.join('\n')).toContain(message);
    expect(problems.join('\n')).not.toContain('s3cr3t-w');
  });
});

describe('check', () => {
  const plain = async (url: string): Promise<string> =>
    (await warningsIn({ yaml: withEgress(`{ proxy: "${url}" }`).replace('127.0.0.1:8080', 'gateway.example') })).join();
  test('warns of a password in the file, and of no proxy without one', async () => {
    expect(await plain('http://u:s3cr3t-word@proxy:3128')).toContain('egress.proxy: a secret in plain text');
    expect(await plain('http://proxy:3128')).not.toContain('egress');
  });

  const signIn = (clients: string, egress = 'egress: { proxy: "http://proxy:3128" }'): string =>
    `${base}${egress}
front_door:
  issuer: http://127.0.0.1:8090
  identity_providers: { corporate: { issuer: http://127.0.0.1:9100, client_id: a, client_secret: s3cr3t } }
  scopes: { read: { title: Read } }
  clients: { ${clients} }
`.replace('    audience:', '    authorization_servers: [main]\n    audience:');
  const documents = 'metadata_documents: ["https://claude.ai/**"]';
  const words = 'front_door.clients.metadata_documents: the documents come through the proxy';
  test('warns of metadata documents through a proxy, unless their addresses are set', async () => {
    expect((await warningsIn({ yaml: signIn(documents) })).join()).toContain(words);
    for (const yaml of [
      signIn(`${documents}, document_addresses: [10.0.0.0/8]`),
      signIn('registration: { redirect_uris: ["http://127.0.0.1:*/**"] }'),
      signIn(documents, ''),
    ])
      expect((await warningsIn({ yaml })).join()).not.toContain(words);
  });
});
