import { join } from 'node:path';
import { disk } from '../../config/files.ts';
import type { Config } from '../../model/config.ts';
import type { DraftTask } from './draft.ts';
import { DraftProcess } from './draft-process.ts';
import type { DraftAnswer, DraftRequest, PolicyView } from './messages.ts';
import type { ConsoleSource } from './process-source.ts';
import type { InForce } from './status.ts';

/** The policies in force, and drafts of them. */
export interface Policies {
  list(): Promise<readonly PolicyView[]>;
  /** Tries a draft; undefined if there is no such policy. Throws as {@link DraftProcess.run}. */
  attempt(request: DraftRequest, isWanted: () => boolean): Promise<DraftAnswer | undefined>;
  readonly close: () => void;
}

/** Creates them. Drafts are compiled and decided in another process, and forgotten. */
export function createPolicies(
  inForce: InForce,
  source: ConsoleSource,
  drafts: DraftProcess = new DraftProcess(),
): Policies {
  async function taskOf(
    config: Config,
    { policy, text, route, question, isThorough }: DraftRequest,
  ): Promise<DraftTask> {
    const tests = (await disk.text(join(config.policyFolder.path, `${policy}.test.yaml`))).text;
    const found = config.routes.find(({ name }) => name === route) ?? routesWith(config, policy)[0];
    return {
      policy,
      text,
      inForce: config.policyFolder.texts.get(`${policy}.yaml`) ?? '',
      tests,
      scopeHierarchy: config.scopeHierarchy,
      issuer: found?.authorizationServers[0]?.issuer ?? '',
      route: found && { name: found.name, protocol: found.protocol },
      question,
      decisions: isThorough ? await source.ask('distinct', policy) : undefined,
    };
  }

  return {
    async list() {
      const { config } = inForce;
      const views: PolicyView[] = [];
      // One after the other: a process tries one at a time, and refuses when many wait.
      for (const { name, rules } of config.policies.values()) {
        const text = config.policyFolder.texts.get(`${name}.yaml`) ?? '';
        const task = await taskOf(config, { policy: name, text, isThorough: true });
        const { tests, properties } = await drafts.run(task);
        views.push({
          name,
          file: `${config.policyFolder.label}/${name}.yaml`,
          text,
          rules: rules.length,
          routes: routesWith(config, name).map((route) => ({ name: route.name, protocol: route.protocol })),
          tests,
          properties,
        });
      }
      return views;
    },
    async attempt(request, isWanted) {
      const { config } = inForce;
      if (!config.policies.has(request.policy)) return undefined;
      return drafts.run(await taskOf(config, request), isWanted);
    },
    close: () => drafts.close(),
  };
}

function routesWith({ routes }: Config, policy: string): Config['routes'] {
  return routes.filter((route) => route.policy?.name === policy);
}
