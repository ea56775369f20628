/**
 * The least that Node can start: a server that answers every request with 200. Its types need not be removed first.
 *
 * @module
 */
import { createServer } from 'node:http';

createServer((_, response) => response.end()).listen(Number(process.env['PORT']), '127.0.0.1');
