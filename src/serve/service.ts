/**
 * The listeners of one process, and the gateway of the newest configuration behind them.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { openListeners } from '../capabilities/all.ts';
import type { OwnListener } from '../capabilities/capability.ts';
import type { OwnCertificate } from '../core/gateway/listen/certificates.ts';
import {
  listen,
  type Listener,
  type OnMalformed,
  type OnRequest,
  type Security,
} from '../core/gateway/listen/server.ts';
import type { Config } from '../ports/config.ts';
import type { Tls } from '../core/model/listen.ts';
import { Denial } from '../core/model/denial.ts';
import type { TlsObserver } from '../core/model/events.ts';
import { serve, type Gateway } from '../core/gateway/pipeline.ts';
import { createReloadableGateway, type ReloadableGateway, type Surroundings } from './reloadable-gateway.ts';
import { stackOf } from '../core/lib/wording.ts';

/** A listener of a capability that listens. */
export interface ListeningAt extends Pick<OwnListener, 'name' | 'title'> {
  readonly url: string;
}

/** A serving process, without its admin listener. */
export interface Service extends Pick<ReloadableGateway, 'servers' | 'sharedStore' | 'capabilities' | 'endTokens'> {
  readonly url: string;
  /** The listeners of capabilities. */
  readonly listeners: readonly ListeningAt[];
  /** Serves by `config` from the next request on, and decides by it on those whose body is not complete yet. */
  reload(config: Config): Promise<void>;
  /** Drains: accepts no more connections, lets requests finish for `graceMs`, then ends the rest. */
  close(graceMs: number): Promise<void>;
}

/** Opens the certificate of `tls`. */
export type OpenCertificate = (tls: Tls, observer: TlsObserver) => OwnCertificate | Promise<OwnCertificate>;

/**
 * Serves by a configuration, and by each configuration that replaces it.
 *
 * @param open Default: reads the files of `tls`, and follows them.
 * @throws the system's error if the address cannot be listened on, such as `EADDRINUSE`.
 */
export async function startService(
  config: Config,
  surroundings: Surroundings,
  open: OpenCertificate = async (tls, observer) =>
    (await import('./own-certificate.ts')).openCertificate(tls, observer, surroundings.clock),
): Promise<Service> {
  const { log, events } = surroundings;
  const own = await openListeners(config);
  const newest = await createReloadableGateway(config, { ...surroundings, listeners: own });

  const onMalformed: OnMalformed = (reason, detail) => {
    const call = {
      id: randomUUID(),
      decision: randomUUID(),
      method: '',
      startedAt: performance.now(),
      trace: undefined,
    };
    const denial = new Denial(reason, detail);
    const { status } = denial.refusal;
    newest.current.record({
      call,
      route: undefined,
      principal: undefined,
      attempt: undefined,
      allow: false,
      rule: undefined,
      denial,
      shadow: undefined,
      answer: { status, challenges: [] },
      decidedAt: call.startedAt,
    });
    newest.current.answered(undefined, call, status);
    return { status, requestId: call.id };
  };

  let security: Security | undefined;
  const listeners: Listener[] = [];
  try {
    security = config.tls && (await secure(config.tls));
    const { requestHeadersBytes: maxHeaderBytes, idleMs } = config.limits;
    listeners.push(
      await listen({
        address: config.listen,
        maxHeaderBytes,
        idleMs,
        onRequest: (request, response, head) => answerBy(newest.current, request, response, head),
        onMalformed,
        security,
      }),
    );
    for (const [index, { address }] of own.entries()) {
      // An upgrade is not passed on: the answer is that of any other request.
      const onRequest: OnRequest = (request, response) => {
        const gateway = newest.current.listeners[index];
        if (gateway !== undefined) answerBy(gateway, request, response);
      };
      listeners.push(await listen({ address, maxHeaderBytes, idleMs, onRequest, onMalformed }));
    }
  } catch (error) {
    await Promise.all(listeners.map((listener) => listener.close(0)));
    await closeParts();
    throw error;
  }

  function answerBy(gateway: Gateway, request: IncomingMessage, response: ServerResponse, head?: Buffer): void {
    serve(gateway, request, response, head).catch((error: unknown) => {
      // Even the refusal failed. The client must not wait for an answer that never comes; the process goes on.
      log.event('error', 'a bug', { stack: stackOf(error) });
      response.destroy();
    });
  }

  async function secure(tls: Tls): Promise<Security> {
    return { certificate: await open(tls, events), observer: events };
  }

  async function closeParts(): Promise<void> {
    security?.certificate.close();
    await newest.close();
  }

  const [clients, ...others] = listeners as [Listener, ...Listener[]];
  const { servers, sharedStore, capabilities, endTokens } = newest;
  return {
    servers,
    sharedStore,
    capabilities,
    endTokens,
    url: clients.url,
    listeners: own.map(({ name, title }, index) => ({ name, title, url: others[index]?.url ?? '' })),
    reload: newest.use,
    async close(graceMs) {
      // In the same turn before the listeners destroy their connections: clients see the end of a stream, no failure.
      const ending = setTimeout(newest.endStreams, graceMs);
      await Promise.all(listeners.map((listener) => listener.close(graceMs)));
      clearTimeout(ending);
      await closeParts();
    },
  };
}
