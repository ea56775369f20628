import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { type Sealing, STORE_PREFIX } from '../../ports/store.ts';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Creates the sealing of the replicas that share `sessionKey`; sessions are bound by other keys of it. */
export function createSealing(sessionKey: string): Sealing {
  const placeKey = derived(sessionKey, 'sallyport shared store v1: places');
  const valueKey = derived(sessionKey, 'sallyport shared store v1: values');

  /** A key for each place, so that random IVs do not repeat under one key (NIST SP 800-38D §8.3). */
  function cipherKey(place: string): Buffer {
    return createHmac('sha256', valueKey).update(place).digest();
  }

  function digest(kind: string, key: string): string {
    return createHmac('sha256', placeKey).update(`${kind}\0${key}`).digest('base64url');
  }

  return {
    place: (kind, key) => `${STORE_PREFIX}${kind}:${digest(kind, key)}`,
    slot: (kind, key) => `${kind}:{${digest(kind, key)}}`,
    seal(place, text) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, cipherKey(place), iv, { authTagLength: TAG_BYTES });
      // A value that is moved to another place does not open: an answer for one token cannot stand for another.
      cipher.setAAD(Buffer.from(place));
      const sealed = [iv, cipher.update(text, 'utf8'), cipher.final()];
      return Buffer.concat([...sealed, cipher.getAuthTag()]).toString('base64url');
    },
    open(place, sealed) {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
      // One spelling for each value: what is marked as used by its text must not have a second one.
      if (bytes.toString('base64url') !== sealed) return undefined;
      const decipher = createDecipheriv(CIPHER, cipherKey(place), bytes.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
        return Buffer.concat([text, decipher.final()]).toString('utf8');
      } catch {
        return undefined;
      }
    },
  };
}

function derived(sessionKey: string, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', sessionKey, '', info, 32));
}
