import { createRotatingKeys } from '../../tokens/rotating-keys.ts';
import { Denial } from '../../core/model/denial.ts';
import { sendDocument } from '../../core/gateway/respond/publish.ts';
import type { ConfigParts, InProcess, Opened, ProcessParts } from '../capability.ts';
import { signedIdentity } from './slot.ts';
import { createStatement } from './statement.ts';

const KEY_SET_PATH = '/.well-known/sallyport-jwks.json';

/** Signed identities in a process. */
export function openSignedIdentity(parts: Pick<ProcessParts, 'clock'>): InProcess {
  return { open: (about) => openedUnder(about, parts) };
}

/** The signed identities of one configuration, and the key set by which upstreams verify them, RFC 7517 §5. */
function openedUnder({ config, secret }: ConfigParts, { clock }: Pick<ProcessParts, 'clock'>): Opened {
  const isUsed = config.routes.some((route) => signedIdentity.of(route) !== undefined);
  const keys = isUsed ? createRotatingKeys(secret) : undefined;

  return {
    of(route) {
      const settings = signedIdentity.of(route);
      if (settings === undefined || keys === undefined) return {};
      return { states: { header: settings.header, of: createStatement(settings, config.publicUrl, keys, clock) } };
    },
    publish(call) {
      if (call.path !== KEY_SET_PATH) return false;
      if (keys === undefined) throw new Denial('route.unknown', 'no route signs identities');
      const document = Buffer.from(JSON.stringify({ keys: keys.published(clock()) }));
      sendDocument(call, 'application/jwk-set+json', document);
      return true;
    },
  };
}
