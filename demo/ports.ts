import { createServer } from 'node:http';

import { listen } from './listen.ts';

/** A port that the demo binds on loopback. */
export interface Port {
  readonly port: number;
  /** The name of the server that listens there. */
  readonly owner: string;
}

/** One line for each port that another process uses, with the remedy; empty if all are free. */
export async function busyPorts(ports: readonly Port[]): Promise<readonly string[]> {
  const lines = await Promise.all(ports.map(async (each) => ((await isFree(each.port)) ? [] : [busyLine(each)])));
  return lines.flat();
}

function busyLine({ port, owner }: Port): string {
  return `Port ${port} is busy, and the demo's ${owner} needs it: \`lsof -i tcp:${port}\` shows the process that uses it; stop it and run this again.`;
}

async function isFree(port: number): Promise<boolean> {
  try {
    await (await listen(createServer(), port)).close();
    return true;
  } catch {
    return false;
  }
}
