import { connect, type Socket } from 'node:net';
import { crc32 } from 'node:zlib';

/** The answers that a client received. */
export interface Received {
  readonly answers: readonly Answer[];
}

/** One answer of the gateway. */
export interface Answer {
  readonly status: number;
  /** The request id: of the gateway's own answer, or of the request that the upstream answered. */
  readonly id: string | undefined;
  /** Whether the answer came from the upstream. */
  readonly isRelayed: boolean;
}

/** After this many looks without any activity, all answers have arrived. */
const QUIET_LOOKS = 3;
/** After this many looks a client that has ended its side destroys its connection. The gateway waits longer. */
const LOOKS_AFTER_END = 200;

/**
 * Sends each case on a connection of its own, all at once, some in two pieces. Once there is no more activity, the
 * clients end their side and then close.
 *
 * @param activity A number that changes with each event elsewhere.
 */
export async function sendAll(
  url: string,
  cases: readonly Buffer[],
  activity: () => number,
): Promise<readonly Received[]> {
  const { hostname, port } = new URL(url);
  let own = 0;
  const clients = cases.map((bytes) => {
    const client = { socket: undefined as unknown as Socket, text: '', closed: false };
    const cut = crc32(bytes) % (bytes.length * 4 + 1);
    const socket = connect({ port: Number(port), host: hostname, noDelay: true }, () => {
      own += 1;
      socket.write(bytes.subarray(0, cut));
      if (cut < bytes.length) setImmediate(() => socket.write(bytes.subarray(cut)));
    });
    socket.on('data', (chunk) => {
      own += 1;
      client.text += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      own += 1;
      client.closed = true;
    });
    client.socket = socket;
    return client;
  });
  const moved = (): number => own + activity();
  await quiet(moved);
  for (const { socket } of clients) socket.end();
  for (let look = 0; clients.some(({ closed }) => !closed) && look < LOOKS_AFTER_END; look += 1) await pause();
  for (const { socket } of clients) socket.destroy();
  await quiet(moved);
  return clients.map(({ text }) => ({ answers: answersIn(text) }));
}

async function quiet(moved: () => number): Promise<void> {
  for (let still = 0, before = moved(); still < QUIET_LOOKS;) {
    await pause();
    const now = moved();
    still = now === before ? still + 1 : 0;
    before = now;
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 1);
  });
}

function answersIn(text: string): readonly Answer[] {
  return [...text.matchAll(/HTTP\/1\.1 ([2-5]\d\d) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/g)].map(
    ([, status, head = '']) => {
      const seen = /^x-seen: (.*)$/im.exec(head)?.[1]?.trim();
      const id = /^x-request-id: (.*)$/im.exec(head)?.[1]?.trim();
      return { status: Number(status), id: id ?? seen, isRelayed: seen !== undefined && id === undefined };
    },
  );
}
