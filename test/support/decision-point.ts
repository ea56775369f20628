import type { Call } from '../../src/core/model/call.ts';
import type { Grant } from '../../src/core/model/grant.ts';
import type { Route } from '../../src/core/model/route.ts';
import { type RequestHandler, startUpstream, type Upstream } from './upstream.ts';

/** Answers every evaluation with yes. */
export const allows = '{"decision":true}';

/** A decision point whose answers a test chooses; 404 for its metadata. */
export interface Pdp {
  readonly server: Upstream;
  /** Answers evaluations, of one call or of a list. */
  evaluation: RequestHandler;
  metadata: RequestHandler;
  questions(): Upstream['seen'];
  close(): Promise<void>;
}

/** The route and the call of a question. */
export const askedRoute = {
  name: 'api',
  path: '/api',
  upstream: { identity: new Map(), statements: [] },
} as unknown as Route;
export const askedCall = { id: 'request', method: 'GET', path: '/api' } as Call;
/** What the policy granted to a caller. */
export const grantOf = (subject: string): Grant =>
  ({
    principal: { subject, callerKey: subject, issuer: 'http://as.test', grantedScopes: [], claims: {} },
    action: { attempt: { kind: 'http' } },
    decision: { allow: true, rule: '', plan: undefined },
  }) as unknown as Grant;

/** Answers with JSON: a text as it is written. */
export const json =
  (status: number, body: string | object, headers: Readonly<Record<string, string>> = {}): RequestHandler =>
  (_request, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body));

/** Answers a request for metadata of which there are none. */
export const noMetadata = json(404, '{}');

/** Answers with the metadata of `pdp`, with some members otherwise. */
export const metadataOf = ({ server }: Pdp, otherwise: object = {}): RequestHandler =>
  json(200, {
    policy_decision_point: `${server.url}/base`,
    access_evaluation_endpoint: `${server.url}/ask`,
    ...otherwise,
  });

/** Starts it on loopback. */
export async function startPdp(): Promise<Pdp> {
  const server = await startUpstream((incoming, response, body) => {
    const handle = incoming.url?.startsWith('/.well-known/') === true ? pdp.metadata : pdp.evaluation;
    handle(incoming, response, body);
  });
  const pdp: Pdp = {
    server,
    evaluation: json(200, allows),
    metadata: noMetadata,
    questions: () => server.seen.filter(({ method }) => method === 'POST'),
    close: () => server.close(),
  };
  return pdp;
}
