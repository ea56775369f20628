import { createServer } from 'node:https';
import { afterEach, expect, test } from 'vitest';
import { listen } from '../../../demo/listen.ts';
import { createEgress } from '../../../src/capabilities/egress/proxies.ts';
import { leadOwnRequests } from '../../../src/ports/own-requests.ts';
import { createDocumentFetch } from '../../../src/front-door/document-fetch.ts';
import { pem } from '../../support/certificates.ts';
import { startRecordingProxy } from '../../support/http-proxy.ts';
import { forThisTest } from '../../support/start-before.ts';

afterEach(() => void leadOwnRequests(undefined));

test('a metadata document comes through the proxy, which resolves its name; literal addresses are judged as ever', async () => {
  const proxy = await forThisTest(startRecordingProxy());
  const server = createServer({ cert: pem('server'), key: pem('server-key') }, (_incoming, response) =>
    response.setHeader('content-type', 'application/json').end('{}'),
  );
  const { url } = await forThisTest(listen(server, 0));
  const port = new URL(url).port;
  const settings = { proxy: new URL(proxy.url), except: ['.internal'], ca: pem('ca') };
  leadOwnRequests(createEgress({ http: settings, https: settings }, []));
  const fetchDocument = createDocumentFetch({ allowed: [], clock: Date.now });

  expect(await (await fetchDocument(`https://gateway.test:${port}/client`)).json()).toEqual({});
  expect(proxy.requests).toHaveLength(1);
  for (const [host, why] of [
    ['10.0.0.1', 'not public'],
    ['[fd00::1]', 'not public'],
    ['127.0.0.1', 'not public'],
    ['localhost', 'not public'],
    ['client.internal', 'ENOTFOUND'],
  ] as const)
    await expect(fetchDocument(`https://${host}:${port}/client`)).rejects.toThrow(
      why === 'ENOTFOUND' ? /ENOTFOUND|EAI_AGAIN/ : why,
    );
  expect(proxy.requests).toHaveLength(1);
});
