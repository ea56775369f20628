import { createHash } from 'node:crypto';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { GatewayKeys } from '../../../schema/validators.js';
import type { Config, PolicyFolder, LogSettings } from '../../ports/config.ts';
import type { RecordedArguments } from '../../core/model/outcome.ts';
import type { FrontDoor } from '../../ports/front-door.ts';
import type { OwnPath } from '../../capabilities/capability.ts';
import type { Policy } from '../../core/model/policy.ts';
import { closeHierarchy } from '../../ports/scope-hierarchy.ts';
import { recordedArgument } from '../../core/config/values.ts';
import { readAddresses, readAdmin, readCallerRate, readLimits, readTls } from './sections.ts';
import { readAuthorizationServers } from './authorization-servers.ts';
import { type KeyFiles, openKeyFiles } from './key-files.ts';
import { serverIn } from '../../tokens/servers/settings.ts';
import { type Field, Report } from '../../core/config/field.ts';
import { disk, type Files } from '../../core/config/files.ts';
import { filesOf, recorded, type Snapshot } from './snapshot.ts';
import { expand, type Expanded } from '../../core/config/placeholders.ts';
import { isLocal, plainSecrets, warningsOf } from './warnings.ts';
import { type ReadPolicies, readPolicies } from '../../policy-files/policies.ts';
import { ConfigError, inTextOrder, Problem } from '../../core/config/problems.ts';
import { readRootResource, readRoutes, type Referents, unreachableRequests } from './routes.ts';
import { isSecret, validators, type Violation } from '../../core/config/schema.ts';
import { parseYaml, problemIn, type YamlFile } from '../../core/config/yaml-file.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { besidePolicies, capabilities, readStore } from '../../capabilities/all.ts';
import type { ReadBesidePolicies, SlotEntry } from '../../capabilities/capability.ts';
import { loopbackHosts } from '../../core/lib/ip-address.ts';

/** A configuration and what it was made from. */
export interface Loaded {
  readonly config: Config;
  /** Every file that was read, and the folder of policies: what to watch for changes. */
  readonly files: readonly string[];
  /** Everything that was read, so that another process can load the same. */
  readonly snapshot: Snapshot;
  /** The files of placeholders, among {@link files}. */
  readonly secrets: readonly string[];
  readonly policyFolder: PolicyFolder;
}

/**
 * Reads and checks `gateway.yaml`, the policies beside it and the secrets that it names.
 *
 * @param env What `${env:NAME}` refers to.
 * @throws {ConfigError} with every problem.
 */
export async function loadConfig(file: string, env: NodeJS.ProcessEnv = process.env): Promise<Config> {
  return (await load(file, env)).config;
}

/** {@link loadConfig}, with the files to watch. @param source Where they are read from; default: the disk. */
export function load(file: string, env: NodeJS.ProcessEnv = process.env, source: Files = disk): Promise<Loaded> {
  return read(file, { env, source, needsSecrets: true });
}

/**
 * {@link load} for a command that uses no secret. A secret whose variable or file is missing is left out: policies can
 * be tested where the secrets of production are not known.
 */
export function loadWithoutSecrets(file: string): Promise<Loaded> {
  return read(file, { env: process.env, source: disk, needsSecrets: false });
}

/**
 * `admin` of `gateway.yaml`, and nothing else: an operator must be able to end rights from any shell. Its token is
 * undefined if its variable or file is missing.
 *
 * @throws {ConfigError} for a file that cannot be read, and for problems of `admin`.
 */
export async function loadAdmin(file: string): Promise<Config['admin']> {
  const { document } = await documentIn(file, disk);
  const { admin } = isObject(document.value) ? document.value : {};
  const report = new Report(document);
  for (const violation of await violations(document.value)) if (violation.path[0] === 'admin') report.note(violation);
  const expanded = await expand({ admin }, process.env, dirname(file), disk);
  reportFaults(expanded, report, false);
  const settings = readAdmin(report.root<GatewayKeys>(document.value, expanded.value).get('admin'));
  if (report.problems().length > 0) throw new ConfigError(report.problems(), [file]);
  return settings;
}

/** @throws {ConfigError} if it is not there, not YAML or empty. */
async function documentIn(file: string, files: Files): Promise<{ readonly document: YamlFile; readonly text: string }> {
  const { text, fault } = await files.text(file);
  if (text === undefined) throw new ConfigError([new Problem(file, undefined, [], missingFile(fault ?? ''))], [file]);
  const document = parseYaml(file, text);
  if (document.problems.length > 0) throw new ConfigError(document.problems, [file]);
  if (document.value === null) throw new ConfigError([new Problem(file, undefined, [], 'is empty')], [file]);
  return { document, text };
}

async function violations(document: unknown): Promise<readonly Violation[]> {
  if (validators.gateway(document)) return [];
  return (await import('../../core/config/violations.ts')).violations('gateway', document);
}

function reportFaults({ faults }: Expanded, report: Report, needsSecrets: boolean): void {
  for (const { path, message, isMissing } of faults)
    if (needsSecrets || !isMissing || !isSecret(path)) report.addProblem(path, message);
}

interface Reading {
  readonly env: NodeJS.ProcessEnv;
  readonly source: Files;
  readonly needsSecrets: boolean;
}

async function read(file: string, { env, source, needsSecrets }: Reading): Promise<Loaded> {
  const files = recorded(source);
  const { document, text } = await documentIn(file, files);
  const report = new Report(document);
  for (const violation of await violations(document.value)) report.note(violation);
  const base = dirname(file);
  const expanded = await expandAtOnce(document.value, env, base, files);
  reportFaults(expanded, report, needsSecrets);

  const root = report.root<GatewayKeys>(document.value, expanded.value);
  const { folder, path, folderLabel } = await readPolicyFolder(root.get('policies'), base, files);
  const reader = { path, label: folderLabel, files, having: folder.having, problemAt: folder.problemAt };
  const beside = await Promise.all(capabilities.flatMap(({ policyFiles }) => policyFiles?.read(reader) ?? []));
  const { tls, files: tlsFiles } = await readTls(root, base, files);
  const keyFiles = await openKeyFiles(root.get('authorization_servers'), base, files);
  const frontDoor = await openFrontDoor(root, base, { env, files });
  const sections = await Promise.all(capabilities.flatMap(({ readFiles }) => readFiles?.(root, base, files) ?? []));
  const policyFolder = { path, label: folderLabel, texts: folder.texts };
  const texts = new Map(folder.texts);
  for (const [name, found] of beside.flatMap((each) => [...each.texts])) texts.set(name, found);
  const hash = hashOf(text, texts);
  const referents = { folder, folderLabel, beside };
  const slots = sections.flatMap(({ entry }) => entriesOf(entry));
  const valid = {
    ...(await readRoot(root, base, { ...referents, keyFiles, slots }, frontDoor?.settings)),
    policyFolder,
    tls,
    hash,
  };

  const paths = [
    file,
    path,
    ...[...texts.keys()].map((name) => join(path, name)),
    ...expanded.files,
    ...keyFiles.files,
    ...(frontDoor?.files ?? []),
    ...sections.flatMap((section) => section.files),
  ];
  const problems = [...report.problems(), ...folder.problems, ...beside.flatMap((each) => each.problems)];
  if (problems.length === 0) {
    for (const { policy, name, message } of unreachableRequests(valid.routes)) {
      problems.push(folder.problemAt(policy, { path: ['requests', name], part: 'key', message }));
    }
  }
  if (problems.length === 0) {
    const found = capabilities.flatMap(({ policyProblems }) => policyProblems?.(valid) ?? []);
    problems.push(...found.map(({ policy, ...violation }) => folder.problemAt(policy, violation)));
  }
  // The listener watches the files of `tls` itself. While they have problems, they belong to what must be repaired.
  if (problems.length > 0) throw new ConfigError(problems, [...paths, ...tlsFiles]);
  const config = { ...valid, warnings: warningLines(valid, document, folder) };
  return {
    config,
    files: paths,
    snapshot: files.snapshot(),
    secrets: [...expanded.files, ...keyFiles.files],
    policyFolder,
  };
}

/** How many times secrets are read again that change while they are read. */
const MAX_READINGS = 5;

/**
 * {@link expand}, with secrets that were all there at one time. Kubernetes swaps a symbolic link to a folder of them;
 * an upstream would refuse an old client identifier with a new secret.
 */
async function expandAtOnce(...about: Parameters<typeof expand>): Promise<Expanded> {
  let expanded = await expand(...about);
  if (expanded.files.length < 2) return expanded;
  for (let readings = 1; readings < MAX_READINGS; readings += 1) {
    const again = await expand(...about);
    if (isDeepStrictEqual(again.value, expanded.value)) return again;
    expanded = again;
  }
  return expanded;
}

/** `front_door`, with the files that it names; undefined: there is none, and its reader is not loaded. */
async function openFrontDoor(
  root: Field<GatewayKeys>,
  base: string,
  about: Parameters<typeof import('./front-door.ts').readFrontDoor>[3],
): Promise<Awaited<ReturnType<typeof import('./front-door.ts').readFrontDoor>> | undefined> {
  const field = root.get('front_door').given();
  return field && (await import('./front-door.ts')).readFrontDoor(field, root, base, about);
}

/** The configuration that another process read, from the texts that it read. */
export async function loadSnapshot(file: string, snapshot: Snapshot): Promise<Config> {
  return (await load(file, process.env, filesOf(snapshot))).config;
}

/** Warnings as problems are printed: those of `gateway.yaml` first, each file in the order of its text. */
function warningLines(valid: Omit<Config, 'warnings'>, document: YamlFile, folder: ReadPolicies): readonly string[] {
  const found = warningsOf(valid, folder.placedScopes).map((warning) =>
    warning.policy === undefined ? problemIn(document, warning) : folder.problemAt(warning.policy, warning),
  );
  if (!isLocal(valid)) found.push(...plainSecrets(document));
  const isOwn = ({ file }: Problem): boolean => file === document.file;
  const inPolicies = [...folder.warnings, ...found.filter((each) => !isOwn(each))];
  return [...found.filter(isOwn).toSorted(inTextOrder), ...inPolicies].map(String);
}

function entriesOf(entry: SlotEntry | undefined): readonly SlotEntry[] {
  return entry === undefined ? [] : [entry];
}

function missingFile(fault: string): string {
  return fault === 'does not exist' ? `${fault}; sallyport init writes one` : fault;
}

async function readPolicyFolder(
  field: Field<string>,
  base: string,
  read: Files,
): Promise<{ folder: ReadPolicies; path: string; folderLabel: string }> {
  const name = field.value();
  const path = resolve(base, name);
  // Relative to the working directory, so that a terminal can open it; a placeholder stays as it is.
  const folderName = field.present && !field.isFaulty() ? field.source() : name;
  const folderLabel = isAbsolute(folderName) ? folderName : join(base, folderName);
  const folder = await readPolicies(path, folderLabel, read, besidePolicies);
  if (!folder.exists && field.present && !field.isFaulty()) field.addProblem(`${field.quoted()} is not a folder`);
  return { folder, path, folderLabel };
}

type ConfigFromRoot = Omit<Config, 'tls' | 'hash' | 'policyFolder' | 'warnings'>;

async function readRoot(
  root: Field<GatewayKeys>,
  base: string,
  {
    beside,
    keyFiles,
    slots,
    ...policies
  }: Pick<Referents, 'folder' | 'folderLabel'> & {
    readonly beside: readonly ReadBesidePolicies[];
    readonly keyFiles: KeyFiles;
    readonly slots: readonly SlotEntry[];
  },
  frontDoor: FrontDoor | undefined,
): Promise<ConfigFromRoot> {
  // A missing required value is replaced by any other: the reported problem keeps the result from being used.
  const publicUrl = root.get('public_url').value();
  const servers = readAuthorizationServers(root.get('authorization_servers'), frontDoor?.server, keyFiles);
  const limits = root.get('limits');
  const endpointsAtRoot = root.get('oauth_endpoints_at_root').read(serverIn(servers));
  const rate = readCallerRate(limits.get('rate'));
  const defined = { publicUrl, folderLabel: policies.folderLabel, servers };
  const readers = await Promise.all(
    capabilities.map(async ({ read, readsPublic = false }) => ({ readIn: await read?.(root, defined), readsPublic })),
  );
  const routes = readRoutes(root.get('routes'), {
    publicUrl,
    servers,
    ...policies,
    frontDoorIssuer: frontDoor?.issuer,
    endpointsAtRoot,
    rate,
    slots: (field, route, index) => [
      ...readers.flatMap(({ readIn, readsPublic }) =>
        route.public && !readsPublic ? [] : entriesOf(readIn?.(field, route)),
      ),
      ...(route.public ? [] : beside.flatMap(({ ofRoute }) => ofRoute(field, route, index))),
    ],
  });
  const addresses = readAddresses(root);
  const ownPaths: OwnPath[] = [];
  const claimPath = (path: OwnPath): void => void ownPaths.push(path);
  const about = { publicUrl, ...addresses, servers, frontDoor, routes, rate, base, claimPath };
  const sections = await Promise.all(capabilities.map(async ({ readSection }) => readSection?.(root, about)));
  if (ownPaths.length > 0) (await import('./own-paths.ts')).requireOwnPaths(routes, ownPaths);
  return {
    publicUrl,
    ...addresses,
    trustedProxies: root.get('trusted_proxies').value(),
    certificateProxies: root.get('certificate_proxies').value(),
    shared: await readStore(root),
    authorizationServers: servers,
    frontDoor,
    scopeHierarchy: readScopes(root.get('scopes')),
    sessionKey: root.get('session_key').value(),
    allowedHosts: new Set([...loopbackHosts, hostOf(publicUrl), ...root.get('allowed_hosts').value()]),
    allowedOrigins: new Set([publicUrl, ...root.get('allowed_origins').value()]),
    limits: readLimits(limits),
    log: readLog(root.get('log')),
    rootResource: readRootResource(root.get('root_resource'), routes),
    endpointsAtRoot,
    routes,
    slots: new Map([...slots, ...sections.flatMap(entriesOf)]),
    policies: new Map(
      [...policies.folder.policies].filter((entry): entry is [string, Policy] => entry[1] !== undefined),
    ),
  };
}

function readLog(log: Field<GatewayKeys['log']>): LogSettings {
  const { paths, addresses, claims, ...settings } = log.settings();
  return { ...settings, details: { paths, addresses, claims, arguments: readArguments(log.get('arguments')) } };
}

/** `digest`, a list of pointers, or both under names. */
function readArguments(field: Field): RecordedArguments | undefined {
  if (!field.present) return undefined;
  const both = field as Field<RecordedArguments>;
  if (both.entries().length > 0) return { show: both.get('show').value(), digest: both.get('digest').value() };
  const show = (field as Field<readonly string[]>).list(recordedArgument);
  return { show, digest: show.length === 0 };
}

function hostOf(publicUrl: string): string {
  return URL.canParse(publicUrl) ? new URL(publicUrl).hostname : '';
}

function readScopes(field: Field<GatewayKeys['scopes']>): ReadonlyMap<string, readonly string[]> {
  return closeHierarchy(Object.fromEntries(field.entries().map(([scope, implied]) => [scope, implied.value()])));
}

/** Over the YAML texts only: the hash is public, and a secret in a file of its own could be guessed from it. */
function hashOf(gateway: string, policies: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256').update(JSON.stringify([gateway]));
  for (const entry of policies) hash.update(JSON.stringify(entry));
  return hash.digest('hex');
}
