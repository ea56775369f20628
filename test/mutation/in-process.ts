/**
 * A test runner for Stryker that runs the covering tests of all mutants in one process. To start vitest for each mutant
 * costs half a second of CPU or more, while most of these tests take less than a millisecond.
 *
 * The risk is that a mutant leaves state behind that fails a later test. Each failed test therefore runs once more
 * without the mutant. If it fails again, Stryker starts a new process and repeats the mutant there.
 *
 * @module
 */
import { globSync, readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { INSTRUMENTER_CONSTANTS, type InstrumenterContext } from '@stryker-mutator/api/core';
import { PluginKind } from '@stryker-mutator/api/plugin';
import {
  determineHitLimitReached,
  DryRunStatus,
  MutantRunStatus,
  TestStatus,
  toMutantRunResult,
  type DryRunResult,
  type MutantRunOptions,
  type TestResult,
  type TestRunner,
} from '@stryker-mutator/api/test-runner';
import * as fc from 'fast-check';
import { collect, type Suite, type Test } from './suite.ts';

type Noticed = { -readonly [Name in keyof InstrumenterContext]: InstrumenterContext[Name] | undefined };

/** Instrumented code reads the active mutant from here and records its coverage here. */
const mutation: Noticed = ((globalThis as Record<string, unknown>)[INSTRUMENTER_CONSTANTS.NAMESPACE] = {});

/** Stryker's copy of the repository. Known once the tests are loaded. */
let root = 'none:';
const standIn = import.meta.resolve('./suite.ts');
const stripped = new Map<string, string>();
/** Part of the URL of each module: a new number loads all modules again, for mutants in code that runs at load time. */
let generation = 0;
/** Milliseconds of the last run of each test. Quick tests run first, since they mostly decide. */
const took = new Map<string, number>();
const QUICK_MS = 10;
/** Far longer than any of these tests waits. The time in which this process has work does not count. */
const IDLE_MS = 3_000;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'vitest' && context.parentURL?.startsWith(root) === true) {
      return { url: standIn, shortCircuit: true };
    }
    const resolved = next(specifier, context);
    const isOurs = resolved.url.startsWith(root) && !resolved.url.includes('/node_modules/');
    return isOurs && generation > 0 ? { ...resolved, url: `${resolved.url}?${generation}` } : resolved;
  },
  load(url, context, next) {
    if (!url.startsWith(root) || !/\.ts\?\d+$/.test(url)) return next(url, context);
    const path = url.replace(/\?\d+$/, '');
    const source = stripped.get(path) ?? stripTypeScriptTypes(readFileSync(new URL(path), 'utf8'));
    stripped.set(path, source);
    return { format: 'module', source, shortCircuit: true };
  },
});

// With other seeds a mutant would survive on some days. The smallest counterexample is not needed.
fc.configureGlobal({ seed: 1, endOnFailure: true });

async function load(): Promise<readonly Suite[]> {
  root = pathToFileURL(`${process.cwd()}/`).href;
  const suites: Suite[] = [];
  for (const file of globSync(JSON.parse(process.env['MUTATION_TESTS'] ?? '[]') as string[]).toSorted()) {
    suites.push(await collect(file, () => import(pathToFileURL(join(process.cwd(), file)).href)));
  }
  return suites;
}

/** Fails a test that waits for what never comes. The limit of Stryker is long, and ends the process. */
async function unlessStuck(running: unknown): Promise<void> {
  if (!(running instanceof Promise)) return;
  const began = performance.eventLoopUtilization();
  const stuck = Promise.withResolvers<never>();
  const watch = setInterval(() => {
    if (performance.eventLoopUtilization(began).idle > IDLE_MS) stuck.reject(new Error('the test waits without end'));
  }, 100);
  try {
    await Promise.race([running, stuck.promise]);
  } finally {
    clearInterval(watch);
  }
}

/** Runs the `wanted` tests. With `bail`, stops at the first failure. */
async function run(suites: readonly Suite[], wanted: (test: Test) => boolean, bail: boolean): Promise<TestResult[]> {
  const results: TestResult[] = [];
  const failed = (): boolean => bail && results.at(-1)?.status === TestStatus.Failed;

  async function runTest(test: Test, around: readonly Suite[]): Promise<void> {
    const started = performance.now();
    let failure: string | undefined;
    mutation.currentTestId = test.id;
    try {
      for (const { before } of around) for (const body of before.each) await body();
      await unlessStuck(test.run());
    } catch (error) {
      failure = String(error);
    }
    for (const { after } of around.toReversed()) for (const body of after.each) await body();
    mutation.currentTestId = undefined;
    const result = { id: test.id, name: test.name, timeSpentMs: performance.now() - started };
    took.set(test.id, result.timeSpentMs);
    results.push(
      failure === undefined
        ? { ...result, status: TestStatus.Success }
        : { ...result, status: TestStatus.Failed, failureMessage: failure },
    );
  }

  async function runSuite(suite: Suite, outer: readonly Suite[]): Promise<void> {
    if (!includes(suite, wanted)) return;
    const around = [...outer, suite];
    for (const body of suite.before.all) await body();
    for (const child of suite.children) {
      if (failed()) break;
      if ('children' in child) await runSuite(child, around);
      else if (wanted(child)) await runTest(child, around);
    }
    for (const body of suite.after.all) await body();
  }

  for (const suite of suites) if (!failed()) await runSuite(suite, []);
  return results;
}

function includes({ children }: Suite, wanted: (test: Test) => boolean): boolean {
  return children.some((child) => ('children' in child ? includes(child, wanted) : wanted(child)));
}

/** As {@link run}. An error outside of a test counts as the failure of one test. */
async function attempt(
  suites: () => Promise<readonly Suite[]>,
  wanted: (test: Test) => boolean,
  bail: boolean,
): Promise<DryRunResult> {
  try {
    const all = await suites();
    const slow = new Set([...took].filter(([, ms]) => ms > QUICK_MS).map(([id]) => id));
    const tests = await run(all, (test) => wanted(test) && !slow.has(test.id), bail);
    if (!bail || tests.at(-1)?.status !== TestStatus.Failed) {
      tests.push(...(await run(all, (test) => wanted(test) && slow.has(test.id), bail)));
    }
    return { status: DryRunStatus.Complete, tests };
  } catch (error) {
    const failure = { id: 'outside', name: 'outside of a test', timeSpentMs: 0 };
    const failed: TestResult = {
      ...failure,
      status: TestStatus.Failed,
      failureMessage: String((error as Error).stack),
    };
    return { status: DryRunStatus.Complete, tests: [failed] };
  }
}

function createInProcess(): TestRunner {
  let suites: readonly Suite[];
  const loaded = async (): Promise<readonly Suite[]> => (suites ??= await load());

  async function mutated(options: MutantRunOptions, wanted: (test: Test) => boolean): Promise<DryRunResult> {
    if (options.mutantActivation === 'runtime') await loaded();
    mutation.activeMutant = options.activeMutant.id;
    mutation.hitCount = 0;
    mutation.hitLimit = options.hitLimit;
    if (options.mutantActivation === 'static') generation += 1;
    const result = await attempt(options.mutantActivation === 'static' ? load : loaded, wanted, true);
    mutation.activeMutant = undefined;
    return determineHitLimitReached(mutation.hitCount, options.hitLimit) ?? result;
  }

  return {
    capabilities: () => ({ reloadEnvironment: true }),
    async dryRun() {
      const result = await attempt(loaded, () => true, false);
      return { ...result, ...(mutation.mutantCoverage && { mutantCoverage: mutation.mutantCoverage }) };
    },
    async mutantRun(options) {
      const covering = options.testFilter && new Set(options.testFilter);
      const result = await mutated(options, ({ id }) => covering?.has(id) ?? true);
      const verdict = toMutantRunResult(result);
      if (verdict.status === MutantRunStatus.Killed && options.mutantActivation === 'runtime') {
        const killers = new Set(verdict.killedBy);
        const again = toMutantRunResult(await attempt(loaded, ({ id }) => killers.has(id), true));
        if (again.status !== MutantRunStatus.Survived)
          throw new Error(`${[...killers].join(', ')} also fails without the mutant`);
      }
      return verdict;
    },
  };
}

/** The export that Stryker reads from a plugin. */
export const strykerPlugins = [{ kind: PluginKind.TestRunner, name: 'in-process', factory: createInProcess }];
