import { expect, test } from 'vitest';
import { clientConfiguration } from '../../../src/commands/init/init.ts';

const endpoints = [
  { name: 'tools', url: 'https://mcp.example.com/mcp' },
  { name: 'notes', url: 'https://mcp.example.com/notes' },
];

/** The JSON in a text for people. */
function jsonIn(text: string): unknown {
  return JSON.parse(text.slice(text.indexOf('{\n'), text.lastIndexOf('}') + 1));
}

test('Claude gets a command for each endpoint, .mcp.json, and the URL for connectors', () => {
  const text = clientConfiguration('claude', endpoints);
  expect(text).toContain('  claude mcp add --transport http tools https://mcp.example.com/mcp\n');
  expect(text).toContain('  claude mcp add --transport http notes https://mcp.example.com/notes\n');
  expect(jsonIn(text)).toEqual({
    mcpServers: {
      tools: { type: 'http', url: 'https://mcp.example.com/mcp' },
      notes: { type: 'http', url: 'https://mcp.example.com/notes' },
    },
  });
});

test('VS Code gets `servers` with a type', () => {
  expect(jsonIn(clientConfiguration('vscode', endpoints))).toMatchObject({
    servers: { tools: { type: 'http', url: 'https://mcp.example.com/mcp' } },
  });
});

test('Cursor gets `mcpServers` with a URL alone', () => {
  expect(jsonIn(clientConfiguration('cursor', endpoints))).toMatchObject({
    mcpServers: { notes: { url: 'https://mcp.example.com/notes' } },
  });
});

test('the Inspector gets a command line', () => {
  expect(clientConfiguration('inspector', endpoints)).toContain(
    '  npx @modelcontextprotocol/inspector --transport http --server-url https://mcp.example.com/mcp\n',
  );
});
