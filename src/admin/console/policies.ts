import { join } from 'node:path';
import { disk } from '../../config/files.ts';
import type { Config } from '../../model/config.ts';
import type { DraftTask } from './draft.ts';
import { createDraftThread, type DraftThread } from './draft-thread.ts';
import type { DraftAnswer, DraftRequest, PolicyView } from './messages.ts';
import type { ConsoleSource } from './process-source.ts';
import type { InForce } from './status.ts';

/** The policies in force, and drafts of them. */
export interface Policies {
  list(): Promise<readonly PolicyView[]>;
  /** Tries a draft; undefined if there is no such policy. Throws as {@link DraftThread.run}. */
  attempt(request: DraftRequest, isWanted: () => boolean): Promise<DraftAnswer | undefined>;
  readonly close: () => void;
}

/** Creates them. Drafts are compiled and decided in another thread, and forgotten. */
export function createPolicies(
  inForce: InForce,
  source: ConsoleSource,
  thread: DraftThread = createDraftThread(),
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
      decisions: isThorough ? await source.distinct(policy) : undefined,
    };
  }

  return {
    list() {
      const { config } = inForce;
      return Promise.all(
        [...config.policies.values()].map(async ({ name, rules }): Promise<PolicyView> => {
          const text = config.policyFolder.texts.get(`${name}.yaml`) ?? '';
          const { tests, properties } = await thread.run(
            await taskOf(config, { policy: name, text, isThorough: true }),
          );
          const routes = routesWith(config, name).map((route) => ({ name: route.name, protocol: route.protocol }));
          return {
            name,
            file: `${config.policyFolder.label}/${name}.yaml`,
            text,
            rules: rules.length,
            routes,
            tests,
            properties,
          };
        }),
      );
    },
    async attempt(request, isWanted) {
      const { config } = inForce;
      if (!config.policies.has(request.policy)) return undefined;
      return thread.run(await taskOf(config, request), isWanted);
    },
    close: thread.close,
  };
}

function routesWith({ routes }: Config, policy: string): Config['routes'] {
  return routes.filter((route) => route.policy?.name === policy);
}
