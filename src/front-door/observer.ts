import type { listedClaims } from '../core/model/recorded-details.ts';
import type { Log } from '../core/telemetry/log.ts';
import { createOwnMetrics, type MetricRows, type Metrics } from '../core/telemetry/metrics.ts';

/** Observes the front door, for metrics and the log. */
export interface FrontDoorObserver {
  signIn(
    provider: string,
    result: 'ok' | 'denied' | 'refused' | 'failed' | 'unavailable',
    about: { readonly subject?: string; readonly claims?: ReturnType<typeof listedClaims>; readonly why?: string },
  ): void;
  consent(
    result: 'approved' | 'denied',
    about: { readonly client_id: string; readonly scope: string; readonly subject?: string | undefined },
  ): void;
  /** An answer of the token endpoint: the `grant_type`, and `ok` or the error. */
  token(grant: string, result: string, about: { readonly client_id?: string; readonly why?: string }): void;
  registration(result: string, about?: { readonly client_name?: string; readonly why?: string }): void;
  /** A grant ended, with all its tokens, because a code or a refresh token of it was presented again. */
  grantEnded(
    why: 'refresh_token.reused' | 'authorization_code.reused',
    about: {
      readonly client_id: string | undefined;
      readonly subject: string | undefined;
      /** When what took its place was issued, or a later one of the chain. */
      readonly first_used: string | undefined;
    },
  ): void;
}

const rows = {
  sallyport_front_door_sign_ins_total: {
    kind: 'counter',
    help: 'Sign-ins at identity providers',
    labels: ['provider', 'result'],
  },
  sallyport_front_door_consents_total: {
    kind: 'counter',
    help: 'Answers to the consent page',
    labels: ['result'],
  },
  sallyport_front_door_tokens_total: {
    kind: 'counter',
    help: 'Answers of the token endpoint, and refusals of requests of devices',
    labels: ['grant', 'result'],
  },
  sallyport_front_door_registrations_total: {
    kind: 'counter',
    help: 'Clients that registered themselves, and those that were refused',
    labels: ['result'],
  },
  sallyport_front_door_grants_ended_total: {
    kind: 'counter',
    help: 'Grants that ended because a used code or refresh token was presented again',
    labels: ['why'],
  },
} as const satisfies MetricRows;

/** The label of each known `grant_type`. Any other is `other`: clients must not be able to add time series. */
const grants: Readonly<Record<string, string>> = {
  authorization_code: 'authorization_code',
  refresh_token: 'refresh_token',
  client_credentials: 'client_credentials',
  'urn:ietf:params:oauth:grant-type:device_code': 'device_code',
  'urn:ietf:params:oauth:grant-type:jwt-bearer': 'jwt_bearer',
  // The same one, by a platform's token.
  workload: 'workload',
};

function grantLabel(grant: string): string {
  return Object.hasOwn(grants, grant) ? String(grants[grant]) : 'other';
}

/** Creates the observer that writes to `log`, with the page of its metrics. */
export function createObserver(log: Pick<Log, 'event'>): {
  readonly observer: FrontDoorObserver;
  readonly page: Metrics['page'];
} {
  const { meters, page } = createOwnMetrics(rows);
  const observer: FrontDoorObserver = {
    signIn(provider, result, about) {
      meters.add('sallyport_front_door_sign_ins_total', 1, provider, result);
      log.event(result === 'ok' ? 'info' : 'warn', 'front door sign-in', { provider, result, ...about });
    },
    consent(result, about) {
      meters.add('sallyport_front_door_consents_total', 1, result);
      log.event('info', 'front door consent', { result, ...about });
    },
    token(grantType, result, about) {
      const grant = grantLabel(grantType);
      meters.add('sallyport_front_door_tokens_total', 1, grant, result);
      log.event(result === 'ok' ? 'debug' : 'info', 'front door token', { grant, result, ...about });
    },
    registration(result, about) {
      meters.add('sallyport_front_door_registrations_total', 1, result);
      log.event('info', 'front door registration', { result, ...about });
    },
    /** Loud: a token was stolen, or a client lost an answer. */
    grantEnded(why, about) {
      meters.add('sallyport_front_door_grants_ended_total', 1, why);
      log.event('warn', 'front door grant ended', { why, ...about });
    },
  };
  return { observer, page };
}
