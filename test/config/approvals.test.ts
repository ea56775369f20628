import { refuses } from './edits.ts';

refuses(
  `
approvals: { authorization_servers: [main] } → accepted
approvals: { authorization_servers: [main], audience: "https://approve.example" } → accepted
approvals: { authorization_servers: [main], audience: "https://api.example" }
  :13:55: approvals.audience: "https://api.example" is also an audience of route api: its callers could approve their own calls; choose another one
audience "http://127.0.0.1:8080/approvals" & top approvals: { authorization_servers: [main] }
  :13:12: approvals.audience: "http://127.0.0.1:8080/approvals" is also an audience of route api: its callers could approve their own calls; choose another one
`.replaceAll(/^approvals:/gm, 'top approvals:'),
);

refuses(
  `
path: /revoke, scope: revoke → accepted
path: /revoke, scope: revoke, audience: "https://api.example"
  :13:67: revocation.endpoint.audience: "https://api.example" is also an audience of route api: its callers could revoke; choose another one
`.replaceAll(/^path:.*?(?= →|$)/gm, (endpoint) => `top revocation: { endpoint: { ${endpoint} } }`),
);
