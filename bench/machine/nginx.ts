import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startProgram, type Program } from './process.ts';

/** Starts nginx with one worker and without logs. `http` is the content of its `http` block. */
export async function startNginx(folder: string, where: 'contender' | 'other', http: string): Promise<Program> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `daemon off; master_process off; worker_processes 1; error_log /dev/null; pid ${folder}/nginx.pid;
events { worker_connections 16384; }
http {
  access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
  client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c;
  uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
${http}
}
`,
  );
  return startProgram(['nginx', '-p', folder, '-c', file], where);
}
