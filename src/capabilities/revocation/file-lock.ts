import { once } from 'node:events';
import { rename, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { relative } from 'node:path';

/** Another process has the lock. */
export class LockedError extends Error {
  override readonly name = 'LockedError';
}

/**
 * Takes a lock that lives as long as this process: a Unix socket that it listens on. The system ends it with the
 * process, however that ends, and containers that share the folder see it. A process number would be neither: the
 * number of a dead process is given to another one, and the first process of each container has the number 1.
 *
 * @returns a function that releases the lock.
 * @throws {LockedError} while another process has it.
 * @throws the system's error if there can be no socket at `path`.
 */
export async function lockFile(path: string): Promise<() => Promise<void>> {
  // The system bounds the address of a socket to about a hundred bytes.
  const address = [path, relative(process.cwd(), path)].toSorted((one, other) => one.length - other.length)[0] ?? path;
  const server = (await socketAt(address)) ?? (await takeOver(address));
  server.unref();
  return async () => {
    server.close();
    await once(server, 'close');
  };
}

async function socketAt(address: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  try {
    await once(server.listen(address), 'listening');
    return server;
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') return undefined;
    throw error;
  }
}

async function takeOver(address: string): Promise<Server> {
  if (await isAnswered(address)) throw new LockedError(`${address} is in use`);
  // Moved, and only then removed: another process may have taken it over meanwhile.
  const moved = `${address}.${process.pid}`;
  await rename(address, moved);
  if (await isAnswered(moved)) await rename(moved, address);
  else await rm(moved);
  const server = await socketAt(address);
  if (server === undefined) throw new LockedError(`${address} is in use`);
  return server;
}

async function isAnswered(address: string): Promise<boolean> {
  const socket = connect(address);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    // Without an answer to the question, the lock counts as taken.
    return codeOf(error) !== 'ECONNREFUSED' && codeOf(error) !== 'ENOENT';
  } finally {
    socket.destroy();
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
