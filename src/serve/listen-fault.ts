/** What a worker said why it cannot serve, in one line. */
export class WorkerFault extends Error {
  override readonly name = 'WorkerFault';
}

/** Why the gateway cannot listen, in one line. Rethrows anything else: a bug. */
export function listenFault(error: unknown): string {
  if (error instanceof WorkerFault) return error.message;
  if (!(error instanceof Error) || !('code' in error)) throw error;
  if ('hostname' in error) return `${String(error.hostname)} is not a host that is known here (${String(error.code)})`;
  if (!('port' in error)) throw error;
  const host = 'address' in error ? String(error.address) : '';
  const place = `${host.includes(':') ? `[${host}]` : host}:${String(error.port)}`;
  switch (error.code) {
    case 'EADDRINUSE':
      return `${place} is in use: stop what listens there, or change listen or admin in the configuration`;
    case 'EACCES':
      return `${place} is not ours to listen on: a port under 1024 needs a privilege`;
    case 'EADDRNOTAVAIL':
      return `${place} is not an address of this machine`;
    default:
      throw error;
  }
}
