import { Counter, Registry } from 'prom-client';
import type { FrontDoorObserver } from '../model/front-door.ts';
import type { Log } from './log.ts';

/** The metrics and the log of the front door. They live in the process that starts it, and survive its restarts. */
export interface FrontDoorTelemetry extends FrontDoorObserver {
  /** Its metrics, in Prometheus' text format. */
  readonly metrics: () => Promise<string>;
}

/** The label of each known `grant_type`. Any other is `other`: clients must not be able to add time series. */
const grants: Readonly<Record<string, string>> = {
  authorization_code: 'authorization_code',
  refresh_token: 'refresh_token',
  'urn:ietf:params:oauth:grant-type:jwt-bearer': 'jwt_bearer',
};

/** Creates them. Label values come from the configuration and from closed sets. */
export function createFrontDoorTelemetry(log: () => Pick<Log, 'event'>): FrontDoorTelemetry {
  const registry = new Registry();
  const registers = [registry];
  const signIns = new Counter({
    name: 'sallyport_front_door_sign_ins_total',
    help: 'Sign-ins at identity providers',
    labelNames: ['provider', 'result'],
    registers,
  });
  const consents = new Counter({
    name: 'sallyport_front_door_consents_total',
    help: 'Answers to the consent page',
    labelNames: ['result'],
    registers,
  });
  const tokens = new Counter({
    name: 'sallyport_front_door_tokens_total',
    help: 'Answers of the token endpoint',
    labelNames: ['grant', 'result'],
    registers,
  });
  const registrations = new Counter({
    name: 'sallyport_front_door_registrations_total',
    help: 'Clients that registered themselves, and those that were refused',
    labelNames: ['result'],
    registers,
  });
  return {
    metrics: () => registry.metrics(),
    signIn(provider, result, about) {
      signIns.inc({ provider, result });
      log().event(result === 'ok' ? 'info' : 'warn', 'front door sign-in', { provider, result, ...about });
    },
    consent(result, about) {
      consents.inc({ result });
      log().event('info', 'front door consent', { result, ...about });
    },
    token(grant, result, about) {
      const label = Object.hasOwn(grants, grant) ? String(grants[grant]) : 'other';
      tokens.inc({ grant: label, result });
      log().event(result === 'ok' ? 'debug' : 'info', 'front door token', { grant: label, result, ...about });
    },
    registration(result) {
      registrations.inc({ result });
      log().event('info', 'front door registration', { result });
    },
  };
}
