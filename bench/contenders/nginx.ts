import { join } from 'node:path';
import type { Contender, Running } from '../contender.ts';
import { freeHost, notOnPath, startServer, written } from '../machine/process.ts';

/** A plain proxy in C, without authorization. */
export const nginx: Contender = {
  name: 'nginx',
  does: 'forwards',
  missing: () => notOnPath('nginx'),
  start: ({ upstream, folder }) =>
    startNginx(
      join(folder, 'nginx'),
      'contender',
      (host) => `
  upstream backend { server ${new URL(upstream).host}; keepalive 128; keepalive_requests 1000000000; }
  server {
    listen ${host} backlog=16384;
    location / {
      proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_read_timeout 1h;
    }
  }`,
    ),
};

/** Starts nginx with one worker and without logs. `http` gives the content of its `http` block. */
export async function startNginx(
  folder: string,
  where: 'contender' | 'other',
  http: (host: string) => string,
): Promise<Running> {
  const host = await freeHost();
  const file = await written(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; worker_processes 1; error_log /dev/null; pid ${folder}/nginx.pid;
events { worker_connections 16384; }
http {
  access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
  client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c;
  uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
${http(host)}
}
`,
  );
  return startServer(['nginx', '-p', folder, '-c', file], where, host);
}
