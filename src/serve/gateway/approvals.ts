/**
 * Approvals as a route of the gateway: the API for approvers, and the stage of other routes. Their code is loaded at
 * its first use: most gateways have none.
 *
 * @module
 */

import type { Approvals } from '../../pipeline/approve/approvals.ts';
import type { Authentication } from '../../pipeline/authenticate/authenticator.ts';
import { createTokenReader } from '../../pipeline/authenticate/credentials.ts';
import { createPossession } from '../../pipeline/authenticate/possession.ts';
import { createAuthorize, createActionReader } from '../../pipeline/authorize/authorize.ts';
import { loadOnce } from '../../lib/single-flight.ts';
import { createQuota } from '../../lib/fair-share.ts';
import type { ApprovalBook, ApprovalObserver } from '../../model/approval-book.ts';
import type { ApprovalSettings, Config } from '../../model/config.ts';
import type { Call } from '../../model/call.ts';
import { FRONT_DOOR } from '../../model/front-door.ts';
import type { RateLimiters } from '../../model/limits.ts';
import { createLimit } from '../../pipeline/limit/limit.ts';
import type { Allowed } from '../../pipeline/listen/allow.ts';
import { readBody } from '../../pipeline/listen/body.ts';
import { answer } from '../../pipeline/respond/answer.ts';
import type { CrossOrigin } from '../../pipeline/respond/cross-origin.ts';
import { createRefuse } from '../../pipeline/respond/refuse.ts';
import { createAdmit, createAdmitUpgrade } from '../../pipeline/route/admit.ts';
import type { Stages } from '../../pipeline/pipeline.ts';

/** The approvals of one configuration, loaded when they are first used. */
export type LazyApprovals = () => Promise<Approvals>;

/** Prepares the approvals of a configuration; undefined if it has none. */
export function createApprovals(
  { approvals, routes }: Pick<Config, 'approvals' | 'routes'>,
  parts: { readonly book: ApprovalBook; readonly observer: ApprovalObserver; readonly clock: () => number },
): LazyApprovals | undefined {
  if (approvals === undefined) return undefined;
  const { url } = approvals;
  return loadOnce(async () => {
    const { Approvals: Loaded } = await import('../../pipeline/approve/approvals.ts');
    return new Loaded({ ...parts, url, routes });
  });
}

/** What the API shares with routes. */
interface ApiParts {
  readonly approvals: LazyApprovals;
  readonly authentication: (possession: ReturnType<typeof createPossession>) => Authentication;
  readonly proofChecks: Parameters<typeof createPossession>[1];
  readonly limiters: RateLimiters;
  readonly allowed: Allowed;
  readonly crossOrigin: CrossOrigin;
  readonly config: Pick<Config, 'publicUrl' | 'frontDoor'>;
}

/** Creates the stages of the API. */
export function createApprovalStages(
  { route }: ApprovalSettings,
  { approvals, authentication, proofChecks, limiters, allowed, crossOrigin, config }: ApiParts,
): Stages & { readonly authentication: Authentication } {
  const { publicUrl, frontDoor } = config;
  const authenticated = authentication(createPossession(undefined, proofChecks));
  const room = createQuota(1024 * 1024);
  const methods = route.methods ?? new Set<string>();
  const hasPage = route.authorizationServers.some(({ name }) => name === FRONT_DOOR);

  /** Sends a person who follows the link to the page of the front door, where they sign in. */
  function sendsPerson(call: Call): boolean {
    const { authorization } = call.fields;
    const isPage = call.request.headers.accept?.includes('text/html') === true;
    if (!hasPage || frontDoor === undefined || authorization !== undefined || !isPage || call.method !== 'GET')
      return false;
    const id = call.path.slice(route.path.length + 1);
    if (!/^[\w-]{1,64}$/.test(id)) return false;
    answer(call, 303, { Location: `${frontDoor.issuer}/approval/${id}`, 'Cache-Control': 'no-store' });
    return true;
  }

  return {
    route,
    authentication: authenticated,
    allow: allowed.require,
    preflight: (call) => crossOrigin.preflight(call, methods) || sendsPerson(call),
    admit: createAdmit(route),
    admitUpgrade: createAdmitUpgrade(route),
    token: createTokenReader(false),
    authenticate: (token, call) => (token === undefined ? undefined : authenticated.authenticate(token, call)),
    limit: createLimit(route, limiters),
    readAction: createActionReader(route, {
      readBody: () => Promise.reject(new TypeError('an HTTP route reads no message')),
      bindings: undefined as never,
      toolHeaders: undefined as never,
    }),
    authorize: createAuthorize(route, Date.now),
    approve: undefined,
    ask: undefined,
    count: undefined,
    consult: undefined,
    exchange: () => undefined,
    hold: () => undefined,
    async forward({ call, grant: { principal } }) {
      const { answerApi, MAX_DECISION_BYTES } = await import('../../pipeline/approve/api.ts');
      if (principal === undefined) throw new TypeError('approvals: no principal');
      const body = call.method === 'POST' ? await readBody(call, MAX_DECISION_BYTES, room) : '';
      const found = await answerApi(await approvals(), route.path, { call, person: principal, body: String(body) });
      const type = found.status === 200 ? 'application/json' : 'application/problem+json';
      const headers = { ...crossOrigin.headers(call), 'Content-Type': type, 'Cache-Control': 'no-store' };
      answer(call, found.status, headers, JSON.stringify(found.body));
    },
    forwardUpgrade: () => Promise.reject(new TypeError('approvals serve no upgrade')),
    refuse: createRefuse(route, { methods, publicUrl, crossOrigin }),
  };
}
