import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Ledger } from '../ledger.ts';
import { users, type User } from '../tokens.ts';
import type { World } from '../world.ts';
import type { Plain } from './plain.ts';

/** A client that makes visit after visit. `ending` ends a visit early. */
export type Visitor = (visit: number, ending: AbortSignal) => Promise<void>;

/** Holds an event stream and then cuts it. Every fourth visit waits until the token expires. */
export function createListener({ ask }: Plain, { tokens }: World, longestMs: number): Visitor {
  return async (visit, ending) => {
    const who = users[visit % users.length] as User;
    const token = visit % 3 === 0 ? tokens.opaque(who) : tokens.jwt(who);
    const expected = who === 'bob' ? [200, 403] : [200];
    const read = async (response: IncomingMessage): Promise<void> => {
      response.on('error', () => {}).resume();
      const over = once(response, 'close');
      const patience = visit % 4 === 3 ? longestMs * 10 : Math.random() * longestMs;
      if (response.statusCode === 200) await Promise.race([over, pause(patience, ending)]);
      response.destroy();
      await over;
    };
    await ask({ route: 'events', kind: 'event stream', expected, path: '/events', token, read });
  };
}

/** Talks over a WebSocket. Every second visit cuts it without a close frame. */
export function createTalker(ledger: Ledger, { tokens, url }: World, longestMs: number): Visitor {
  return async (visit, ending) => {
    const who = users[visit % users.length] as User;
    const sent = ledger.send('socket', 'WebSocket', who === 'bob' ? [101, 403] : [101]);
    const headers = { ...sent.headers, authorization: `Bearer ${tokens.jwt(who)}` };
    const socket = new WebSocket(`${url.replace('http', 'ws')}/socket`, { headers });
    const over = new Promise((resolve) => socket.once('close', resolve));
    let isRefused = false;
    socket
      .on('error', () => {})
      .on('unexpected-response', (_request, response) => {
        isRefused = true;
        sent.answered(response.statusCode ?? 0);
        response.resume();
        socket.terminate();
      });
    const isOpen = await Promise.race([
      once(socket, 'open').then(
        () => true,
        () => false,
      ),
      over.then(() => false),
    ]);
    if (isOpen) {
      sent.answered(101);
      for (const until = Date.now() + Math.random() * longestMs; Date.now() < until && !ending.aborted;) {
        if (socket.readyState !== WebSocket.OPEN) break;
        socket.send('x'.repeat(500));
        await pause(250, ending);
      }
      if (visit % 2 === 0) socket.close();
      else socket.terminate();
    }
    await over;
    // An edit of the policy also ends connections that wait for their handshake.
    if (!isOpen && !isRefused) sent.broke('cut before the handshake was answered');
  };
}

/** Waits until the time is over or `ending`. */
export async function pause(ms: number, ending: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal: ending }).catch(() => undefined);
}
