/**
 * A first proxy on Node: http-proxy-3 with persistent connections and without authorization.
 *
 * @module
 */
import { Agent, createServer } from 'node:http';
import { createProxyServer } from 'http-proxy-3';

const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
const proxy = createProxyServer({ target: process.env['UPSTREAM'] ?? '', agent });
proxy.on('error', (_error, _request, response) => response?.destroy());
createServer((request, response) => proxy.web(request, response)).listen(Number(process.env['PORT']), '127.0.0.1');
