import type { Events } from '../model/events.ts';

/** A function of {@link Events}, with the most arguments that any of them has. */
type Handler = (first: unknown, second: unknown, third: unknown) => void;

const eventNames = Object.keys({
  decided: true,
  answered: true,
  returned: true,
  listed: true,
  tokenLookup: true,
  serverCall: true,
  linesLost: true,
  configLoaded: true,
  reloadFailed: true,
  upstreamAnswered: true,
  streamOpened: true,
  streamClosed: true,
  storeUp: true,
  storeRequest: true,
  certificateInForce: true,
  certificateRefused: true,
  handshakeFailed: true,
  clientCertificateRefused: true,
} satisfies Record<keyof Events, true>) as readonly (keyof Events)[];

/** Passes each event to all subscribers that want it, in their order. */
export function joinEvents(...subscribers: readonly (Partial<Events> | undefined)[]): Events {
  const joined = eventNames.map((name) => {
    const handlers = subscribers.flatMap((each) => (each?.[name] as Handler | undefined)?.bind(each) ?? []);
    return [name, oneAfterAnother(handlers)] as const;
  });
  return Object.fromEntries(joined) as unknown as Events;
}

function oneAfterAnother([first, ...others]: readonly Handler[]): Handler {
  if (first === undefined) return () => {};
  if (others.length === 0) return first;
  const then = oneAfterAnother(others);
  return (one, two, three) => {
    first(one, two, three);
    then(one, two, three);
  };
}
