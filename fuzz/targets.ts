import type { Target } from './target.ts';

/** The targets by name. Each is loaded only after coverage has started. */
export const targets: Readonly<Record<string, () => Promise<Target>>> = {
  request: async () => (await import('./request/target.ts')).startRequestTarget(),
  path: async () => (await import('./parsers/path.ts')).path,
  credentials: async () => (await import('./parsers/credentials.ts')).credentials,
  fields: async () => (await import('./parsers/fields.ts')).fields,
  json: async () => (await import('./parsers/json.ts')).json,
  message: async () => (await import('./parsers/message.ts')).message,
  events: async () => (await import('./parsers/events.ts')).events,
  tokens: async () => (await import('./parsers/tokens.ts')).tokens,
  values: async () => (await import('./parsers/values.ts')).values,
  policy: async () => (await import('./parsers/policy.ts')).policy,
  properties: async () => (await import('./parsers/properties.ts')).properties,
  config: async () => (await import('./parsers/config.ts')).config,
};
