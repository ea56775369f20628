import { configOption as config, type Option, type Options, type Values } from '../capabilities/command.ts';

const json = { does: 'prints JSON' } as const satisfies Option;

/** The options of every command that has some. Parsing, help and completion read them here. */
export const options = {
  init: {
    upstream: { value: 'URL', does: 'the MCP server to protect: asks it for its tools and lists them in the policy' },
    header: {
      value: 'TEXT',
      isRepeated: true,
      does: "a header for the MCP server: 'Name: ${file:PATH}', '${env:NAME}' or a value; may be repeated",
    },
    issuer: { value: 'URL', does: 'the authorization server: asks it for its algorithms' },
    opaque: { does: 'the authorization server issues opaque tokens: also writes introspection, RFC 7662' },
    'front-door': { does: 'also writes the front door, where people sign in at the OpenID provider of --issuer' },
    client: {
      value: 'NAME',
      does: "also prints this client's configuration for the gateway",
      oneOf: ['claude', 'vscode', 'cursor', 'inspector'],
    },
    compose: { does: 'also writes docker-compose.yml, in which only the gateway can reach your server' },
  },
  serve: {
    config,
    workers: { value: 'N', default: '1', does: 'the number of processes; auto: one for each processor' },
    'without-front-door': { does: 'does not start the front door, which runs elsewhere' },
  },
  'front-door': {
    config,
    metrics: { value: 'HOST:PORT', does: 'serves /metrics and /healthz there; default: nowhere' },
    clients: { does: 'runs nothing; prints what each known:NAME of registration.redirect_uris stands for' },
  },
  check: {
    strict: { does: 'also fails if there is a warning' },
    workers: { value: 'N', default: '1', does: 'also checks what serve --workers N needs' },
    'without-front-door': { does: 'with --workers: as serve without the front door' },
    config,
  },
  doctor: {
    client: {
      value: 'NAME',
      does: 'only walks the way of this MCP client, such as claude; any other word lists all',
    },
    register: { does: 'with --client: also registers it, where its way leads to that' },
    token: { value: '-', does: 'also compares the access token on stdin with what its route takes' },
    route: { value: 'NAME', does: 'that route; default: the one whose audience the token names' },
    config,
  },
  test: {
    watch: { does: 'runs them again after each edit' },
    junit: { value: 'FILE', does: 'also writes a JUnit report', isPath: true },
    coverage: { does: 'lists the rules that no test decides' },
    'require-coverage': { does: 'also fails if there is such a rule' },
    config,
  },
  explain: {
    route: { value: 'NAME', does: 'the route that is called; default: the only one' },
    tool: { value: 'NAME', does: 'the tool that is called, on an MCP route' },
    resource: { value: 'URI', does: 'or the resource that is read' },
    prompt: { value: 'NAME', does: 'or the prompt that is fetched' },
    method: { value: 'NAME', does: 'or any other method' },
    request: { value: 'TEXT', does: "the request, on an HTTP route: 'POST /orders'" },
    arguments: {
      value: 'JSON',
      does: 'the arguments; without them, the decision ignores the conditions on arguments',
    },
    token: {
      value: 'TOKEN',
      does: "the caller's access token, validated as on the route; - reads it from stdin",
    },
    claims: { value: 'JSON', does: `or the claims of the caller: '{"sub":"alice","scope":"read"}'` },
    scope: { value: 'TEXT', does: 'and the scopes of the caller, separated by spaces' },
    lifetime: { value: '60s', does: 'and the lifetime of the token, exp - iat' },
    history: {
      value: 'FILE',
      does: 'the calls before, for rules over time: the YAML list of `history` in a policy test',
      isPath: true,
    },
    decision: {
      value: 'ID',
      does: 'explains a logged decision instead, by its decision id or its request id',
    },
    log: {
      value: 'FILE',
      does: 'the decision log to search; default: log.file of the configuration; - reads stdin',
      isPath: true,
    },
    json,
    config,
  },
  replay: {
    policies: { value: 'DIR', does: 'the edited policies; default: those of the configuration', isPath: true },
    json,
    config,
  },
  learn: {
    route: { value: 'NAME', does: 'the route whose calls are read' },
    to: { value: 'DIR', does: 'the folder to write NAME.yaml and NAME.test.yaml to; default: stdout', isPath: true },
    name: { value: 'NAME', does: "the policy; default: the route's, or the name of the route" },
    by: { value: 'claim:NAME', does: 'adds to each entry the values of this claim that the log has' },
    force: { does: 'replaces files that exist' },
    config,
  },
  rights: {
    route: { value: 'NAME', does: 'only this route; default: all' },
    by: { value: 'OWNER', does: 'the callers: subject (the default), client or claim:NAME' },
    policies: {
      value: 'DIR',
      does: 'policies of another time: shows what callers lost and gained since',
      isPath: true,
    },
    json,
    config,
  },
  compare: {
    from: { value: 'DIR', does: 'the policies before the edit, or their gateway.yaml', isPath: true },
    to: { value: 'DIR', does: 'the edited policies; default: those of the configuration', isPath: true },
    json,
    config,
  },
  revoke: {
    subject: { value: 'SUB', does: 'the person: `sub` at the issuer' },
    client: { value: 'ID', does: 'or the client at the issuer; with --subject, for that person alone' },
    actor: { value: 'SUB', does: 'or the agent that acts for people: `sub` in a chain of `act`' },
    issuer: { value: 'URL', does: 'the issuer: of an authorization server or of an identity provider' },
    email: { value: 'ADDRESS', does: 'or the person whose tokens have this address, at every issuer' },
    list: { does: 'prints what is kept instead, JSON lines with ids' },
    lift: { value: 'ID', does: 'withdraws a revocation instead' },
    yes: { does: 'does not ask; needed without a terminal' },
    admin: { value: 'URL', does: 'the admin listener; default: `admin` of the configuration' },
    config,
  },
  token: {
    issuer: { value: 'URL', does: 'the authorization server, such as the front door' },
    client: { value: 'ID', does: 'the client identifier; not with --workload' },
    'client-secret': { value: '-', does: 'reads the secret of the client from stdin' },
    key: { value: 'FILE', does: 'the private key of the client, PEM or JWK: signs an assertion', isPath: true },
    device: { does: 'prints a code, which a person types in a browser elsewhere' },
    workload: { value: 'FILE', does: 'exchanges the token of a platform', isPath: true },
    resource: { value: 'URL', does: 'the resource that the token is for; default: the only MCP route' },
    scope: { value: 'SCOPES', does: 'the scopes to ask for, separated by spaces' },
  },
  log: {
    since: { value: 'TIME', does: 'only since then: 30m or 1d ago, 22:27, or 2026-01-31T22:27 (UTC)' },
    until: { value: 'TIME', does: 'only before then' },
    route: { value: 'NAME', does: 'only calls of this route' },
    subject: { value: 'NAME', does: 'only calls of this subject, or of the caller with this value in log.claims' },
    client: { value: 'ID', does: 'only calls by this client' },
    address: { value: 'ADDRESS', does: 'only calls from this address, or from this network: 10.0.0.0/8' },
    path: { value: 'PATH', does: 'only requests of this path of an HTTP route, and of paths below it' },
    tool: { value: 'NAME', does: 'only calls of this tool, or of this other target or method' },
    reason: { value: 'REASON', does: 'only this reason, or all that begin with it: token, claim.denied' },
    denied: { does: 'only denied calls, and those that shadow mode let pass' },
    failed: { does: 'only allowed calls that failed afterwards, such as at the upstream' },
    verify: { does: 'checks that no line was changed, dropped, doubled or moved since log.chain linked them' },
    keys: { value: 'FILE|URL', does: 'with --verify: the keys, as /audit-keys of the admin listener has them' },
    follow: { short: 'f', does: 'waits for more decisions, also after the file was rotated' },
    json: { does: 'prints JSON lines' },
    summary: { does: 'prints counts by tool, subject and reason instead' },
    config,
  },
} as const satisfies Readonly<Record<string, Options>>;

/** The values that a command gets of its options. */
export type OptionsOf<Command extends keyof typeof options> = Values<(typeof options)[Command]>;
