import type { Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { ownMember } from '../core/lib/json/own-member.ts';
import type { FrontDoor } from '../ports/front-door.ts';
import type { FrontDoorObserver } from './observer.ts';
import type { Admission } from './admission.ts';
import { clientFacts } from './clients.ts';
import { TooManyCodes } from './devices.ts';
import { showPage } from './page.ts';
import { codePage, consentPage, failedPage, messagePage } from './pages.ts';
import type { People } from './people.ts';
import type { Resources } from './resources.ts';
import { type ScopeRules, shownScope } from './scope-rules.ts';
import { texts } from './texts.ts';

type DeviceFlow = NonNullable<NonNullable<Configuration['features']>['deviceFlow']>;

/** The parts of the pages for devices. */
export interface DevicePageParts {
  readonly frontDoor: FrontDoor;
  readonly observer: Pick<FrontDoorObserver, 'consent'>;
  readonly admission: Admission;
  readonly people: People;
  readonly scopes: ScopeRules;
  readonly resources: Resources;
}

/**
 * The pages of the device grant. People are talked into typing codes (RFC 8628 §5.4): the page of a code says which
 * client asks, from where and since when, and asks each time.
 */
export function deviceFlow(parts: DevicePageParts): DeviceFlow {
  const { frontDoor, observer, admission, people, scopes, resources } = parts;
  return {
    enabled: true,
    charset: 'base-20',
    mask: '****-****',
    deviceInfo: ({ req }) => ({ address: admission.addressOf(req), network: admission.networkOf(req) }),
    userCodeInputSource(ctx, _form, out, error) {
      const say = texts.device;
      switch (error?.constructor.name) {
        case undefined:
          return showPage(ctx, codePage(formOf(ctx), prefilled(ctx)));
        case 'AbortedError':
          observer.consent('denied', askedIn(ctx));
          return showPage(ctx, messagePage(say.denied, say.deniedNote));
        case 'NoCodeError':
        case 'NotFoundError':
        case 'ExpiredError':
        case 'AlreadyUsedError':
          return showPage(ctx, codePage(formOf(ctx), '', say.wrong));
        case TooManyCodes.name:
          return showPage(ctx, messagePage(texts.failed.heading, say.tooMany));
        default:
          return showPage(ctx, failedPage(out?.error_description ?? texts.failed.unavailable, out?.error));
      }
    },
    async userCodeConfirmSource(ctx, _form, client, deviceInfo, userCode) {
      const { params = {}, iat = 0 } = ctx.oidc.deviceCode ?? {};
      const { accountId } = ctx.oidc.session ?? {};
      const person = accountId === undefined ? undefined : await people.find(accountId);
      const asked = scopes.known(params['scope']);
      const target = [params['resource'] ?? []].flat().map(String);
      const [only, ...others] = [...frontDoor.providers.values()];
      showPage(
        ctx,
        consentPage({
          client: clientFacts(client, undefined),
          resources: target,
          mayApprove: target.some((resource) => resources.isForApprovers(resource)),
          asked: asked.map((name) => shownScope(scopes, name)),
          allowed: [],
          signedInAs: person?.label ?? person?.subject,
          signOutUrl: ctx.oidc.urlFor('end_session'),
          next:
            person === undefined && only !== undefined && others.length === 0
              ? { kind: 'provider', host: new URL(only.issuer).host }
              : { kind: 'none' },
          device: {
            form: formOf(ctx),
            userCode,
            address: String(ownMember(deviceInfo, 'address')),
            seconds: Math.max(0, Math.floor(Date.now() / 1000) - iat),
          },
        }),
      );
    },
    successSource(ctx) {
      showPage(ctx, messagePage(texts.device.done, texts.device.doneNote));
    },
  };
}

/** Where a form of these pages goes, and what proves that it is ours. */
function formOf({ oidc }: KoaContextWithOIDC): { readonly action: string; readonly xsrf: string } {
  return { action: oidc.urlFor('code_verification'), xsrf: textOf(oidc.session?.state?.['secret']) };
}

/** The code of `verification_uri_complete`, which the handler keeps from oidc-provider: that would look it up. */
function prefilled({ state }: KoaContextWithOIDC): string {
  const code: unknown = state['userCode'];
  return typeof code === 'string' ? code.slice(0, 20) : '';
}

function askedIn({ oidc }: KoaContextWithOIDC): { readonly client_id: string; readonly scope: string } {
  const { clientId, params = {} } = oidc.deviceCode ?? {};
  return { client_id: clientId ?? oidc.client?.clientId ?? '', scope: textOf(params['scope']) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
