import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { endpoints, type Status } from '../src/capabilities/console/messages.ts';
import { read, SignedOut } from './requests.ts';

/** Whether the listener answers this page. */
type Connection = 'connecting' | 'connected' | 'disconnected' | 'signed out';

/** What the page knows of the gateway. */
export interface Known {
  readonly connection: Connection;
  /** Undefined before the first answer. */
  readonly status: Status | undefined;
  /** When the status was read, in milliseconds since the epoch. */
  readonly at: number;
}

const EVERY_MS = 5_000;

/** Does something now, and then every few seconds. */
export function useRepeated(action: () => void): void {
  useEffect(() => {
    action();
    const timer = setInterval(action, EVERY_MS);
    return () => clearInterval(timer);
  }, []);
}

/** Reads the status of the gateway every few seconds. */
export function useGateway(): Known {
  const [known, setKnown] = useState<Known>({ connection: 'connecting', status: undefined, at: Date.now() });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const ask = async (): Promise<void> => {
      const next = await read(endpoints.status).then(
        (status): Partial<Known> => ({ connection: 'connected', status, at: Date.now() }),
        (error: unknown): Partial<Known> => ({
          connection: error instanceof SignedOut ? 'signed out' : 'disconnected',
        }),
      );
      if (isOver) return;
      setKnown((before) => ({ ...before, ...next }));
      timer = setTimeout(() => void ask(), next.connection === 'connected' ? EVERY_MS : 1_000);
    };
    void ask();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, []);
  return known;
}

/** What the page knows of the gateway, for every view. */
export const Gateway = createContext<Known>({ connection: 'connecting', status: undefined, at: 0 });

/** {@link Gateway} of the surrounding page. */
export function useKnown(): Known {
  return useContext(Gateway);
}

/** The troubles that an operator should look at, a few words each. */
export function troublesOf({ problems, servers, store, locks = [], certificateExpires }: Status): readonly string[] {
  const away = servers.filter(({ state }) => state !== 'available' && state !== 'unknown');
  return [
    ...(problems.length === 0 ? [] : ['the newest configuration is refused']),
    ...away.map(({ name, state }) => `${name} is ${state}`),
    ...(store === undefined || store.state === 'available' ? [] : ['the shared store is unavailable']),
    ...locks.filter(({ count }) => count > 0).map(({ route }) => `${route} shows changed definitions`),
    ...(certificateExpires !== undefined && expiresSoon(certificateExpires) ? ['the certificate expires soon'] : []),
  ];
}

const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

/** How many whole days are left until a moment; negative if it has passed. */
export function daysUntil(at: number): number {
  return Math.floor((at - Date.now()) / DAY_MS);
}

/** Whether an operator should renew what expires at a moment. */
export function expiresSoon(at: number): boolean {
  return daysUntil(at) < SOON_DAYS;
}
