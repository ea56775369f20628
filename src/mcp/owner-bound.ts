import { createHmac, timingSafeEqual } from 'node:crypto';
import { lengthPrefixed } from '../lib/length-prefixed.ts';

/**
 * Binds the handles that an MCP server gives out, such as session ids, to the caller that received them. The server
 * knows no callers: without the binding, possession of a handle would be permission to use it. The client sees the
 * handle with a MAC, which the gateway verifies for its owner alone. This needs no store and works on every replica
 * with the same key.
 */
export interface OwnerBound {
  /**
   * The handle as the client sees it.
   *
   * @param owner As {@link lengthPrefixed} joins its parts.
   */
  bind(handle: string, owner: string): string;
  /** The server's own handle, or undefined where it is not `owner`'s. */
  unbind(bound: string, owner: string): string | undefined;
}

/** 128 bits: forging one takes 2^127 requests. */
const MAC_BYTES = 16;

/** Creates the binding under `key`, which only the gateway knows. */
export function createOwnerBound(key: string | Buffer): OwnerBound {
  function mac(handle: string, owner: string): Buffer {
    const text = owner + lengthPrefixed([handle]);
    return createHmac('sha256', key).update(text).digest().subarray(0, MAC_BYTES);
  }

  return {
    bind: (handle, owner) => `${handle}.${mac(handle, owner).toString('base64url')}`,
    unbind(bound, owner) {
      const dot = bound.lastIndexOf('.');
      if (dot === -1) return undefined;
      const handle = bound.slice(0, dot);
      // Compares the text, not the decoded bytes: padding and spare bits would give one MAC several spellings.
      const given = Buffer.from(bound.slice(dot + 1));
      const wanted = Buffer.from(mac(handle, owner).toString('base64url'));
      return given.length === wanted.length && timingSafeEqual(given, wanted) ? handle : undefined;
    },
  };
}
