import { createServer } from 'node:http';

import { listen } from './listen.ts';

/** A port that the demo binds on loopback. */
export interface Port {
  readonly port: number;
  /** What listens there, in words. */
  readonly owner: string;
}

/** One line for each port that somebody else holds, with what to do about it; none when all are free. */
export async function busyPorts(ports: readonly Port[]): Promise<readonly string[]> {
  const lines = await Promise.all(ports.map(async (each) => ((await isFree(each.port)) ? [] : [busyLine(each)])));
  return lines.flat();
}

function busyLine({ port, owner }: Port): string {
  return `Port ${port} is busy, and the demo's ${owner} needs it: \`lsof -i tcp:${port}\` names the process that holds it; end that one and run this again.`;
}

async function isFree(port: number): Promise<boolean> {
  try {
    await (await listen(createServer(), port)).close();
    return true;
  } catch {
    return false;
  }
}
