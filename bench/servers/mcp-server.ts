/**
 * An MCP server of the official SDK, with one tool that answers at once.
 *
 * @module
 */
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { mcpHandler } from '../../test/support/mcp-servers.ts';

function build(): McpServer {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('get_price', { inputSchema: z.object({ symbol: z.string() }) }, ({ symbol }) => ({
    content: [{ type: 'text', text: symbol }],
  }));
  return server;
}

createServer(mcpHandler(build)).listen(Number(process.env['PORT']), '127.0.0.1');
