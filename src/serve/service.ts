/**
 * What runs: the listener, and the gateway of the newest configuration behind it.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { watchFiles } from '../config/watch.ts';
import { openCertificate, type OwnCertificate } from '../listen/own-certificate.ts';
import { listen, type Listener, type OnMalformed, type OnRequest, type Security } from '../listen/server.ts';
import type { ServerState } from '../model/authorization-server.ts';
import type { Config, Tls } from '../model/config.ts';
import { Denial, refusals } from '../model/denial.ts';
import type { TlsObserver } from '../model/observer.ts';
import type { StoreState } from '../model/shared.ts';
import { createReloadableGateway, type Surroundings } from './reloadable-gateway.ts';
import { serve, type Gateway } from '../pipeline.ts';
import { createTlsObserver } from '../telemetry/log.ts';

/** A gateway that serves. */
export interface Service {
  readonly url: string;
  /** Where proxies ask; undefined where they cannot. */
  readonly forwardAuthUrl: string | undefined;
  /** Each authorization server as it is now. */
  servers(): readonly ServerState[];
  /** The store that replicas share, as it is now; undefined where none is configured. */
  readonly sharedStore: () => StoreState | undefined;
  /** Serves by `config` from the next request on; those under way end by the one that they began with. */
  reload(config: Config): void;
  /** Accepts no more, lets requests finish for `graceMs`, then ends what is left. */
  close(graceMs: number): Promise<void>;
}

/** Gives the certificate that `tls` is about. */
export type OpenCertificate = (tls: Tls, observer: TlsObserver) => OwnCertificate | Promise<OwnCertificate>;

/**
 * Serves by a configuration, and by each that comes after it.
 *
 * @param open Default: the files of `tls` are read and followed.
 * @throws the system's error where the address cannot be listened on, `EADDRINUSE` among them.
 */
export async function startService(
  config: Config,
  surroundings: Surroundings,
  open: OpenCertificate = (tls, observer) => openCertificate(tls, watchFiles, observer, surroundings.clock),
): Promise<Service> {
  const { log, metrics } = surroundings;
  const newest = createReloadableGateway(config, surroundings);

  const onMalformed: OnMalformed = (reason, detail) => {
    const call = {
      id: randomUUID(),
      decision: randomUUID(),
      method: '',
      startedAt: performance.now(),
      trace: undefined,
    };
    const denial = new Denial(reason, detail);
    newest.current.record({
      call,
      route: undefined,
      principal: undefined,
      attempt: undefined,
      allow: false,
      rule: undefined,
      denial,
      shadow: undefined,
      decidedAt: call.startedAt,
    });
    const { status } = refusals[reason];
    newest.current.answered(undefined, call, status);
    return { status, requestId: call.id };
  };

  let security: Security | undefined;
  const listeners: Listener[] = [];
  try {
    security = config.tls && (await secure(config.tls));
    const { requestHeadersBytes: maxHeaderBytes } = config.limits;
    listeners.push(
      await listen({
        address: config.listen,
        maxHeaderBytes,
        onRequest: (request, response, head) => answerBy(newest.current, request, response, head),
        onMalformed,
        security,
      }),
    );
    if (config.forwardAuth !== undefined) {
      // A WebSocket handshake too is only asked about: it is answered like any other question.
      const onRequest: OnRequest = (request, response) => answerBy(newest.current.forwardAuth, request, response);
      listeners.push(await listen({ address: config.forwardAuth.listen, maxHeaderBytes, onRequest, onMalformed }));
    }
  } catch (error) {
    await Promise.all(listeners.map((listener) => listener.close(0)));
    await closeParts();
    throw error;
  }

  function answerBy(gateway: Gateway, request: IncomingMessage, response: ServerResponse, head?: Buffer): void {
    serve(gateway, request, response, head).catch((error: unknown) => {
      // Even refusing has failed: nobody may wait for an answer that does not come, and the process lives.
      log.event('error', 'a bug', { stack: error instanceof Error ? error.stack : String(error) });
      response.destroy();
    });
  }

  async function secure(tls: Tls): Promise<Security> {
    const observer = createTlsObserver(log, metrics);
    return { certificate: await open(tls, observer), observer };
  }

  async function closeParts(): Promise<void> {
    security?.certificate.close();
    await newest.close();
  }

  const [clients, proxies] = listeners as [Listener, Listener?];
  return {
    url: clients.url,
    forwardAuthUrl: proxies?.url,
    sharedStore: newest.sharedStore,
    servers: newest.servers,
    reload: newest.use,
    async close(graceMs) {
      // Before the listeners destroy their connections, in the same turn: clients then see an end, and no failure.
      const ending = setTimeout(newest.endStreams, graceMs);
      await Promise.all(listeners.map((listener) => listener.close(graceMs)));
      clearTimeout(ending);
      await closeParts();
    },
  };
}
