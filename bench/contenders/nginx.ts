import { join } from 'node:path';
import type { Contender } from '../contender.ts';
import { startNginx } from '../machine/nginx.ts';
import { answering, notOnPath } from '../machine/process.ts';
import { freePort } from '../../test/support/ports.ts';

/** A plain proxy in C, without authorization. */
export const nginx: Contender = {
  name: 'nginx',
  does: 'forwards',
  missing: () => notOnPath('nginx'),
  async start({ upstream, folder }) {
    const port = await freePort();
    const program = await startNginx(
      join(folder, 'nginx'),
      'contender',
      `
  upstream backend { server ${new URL(upstream).host}; keepalive 128; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=16384;
    location / {
      proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_read_timeout 1h;
    }
  }`,
    );
    const url = `http://127.0.0.1:${port}`;
    await answering(url);
    return { url, pids: [program.pid], output: program.output, stop: program.stop };
  },
};
