/**
 * Replaces `vitest` in the test files that run against mutants. It only collects the tests, so that
 * {@link import('./in-process.ts')} can run them thousands of times in one process.
 *
 * @module
 */
import { expect as real } from 'vitest';

type Body = (...values: readonly never[]) => unknown;

/** A declared test. */
export interface Test {
  /** Made of the file and a number, because names need not be unique. */
  readonly id: string;
  readonly name: string;
  readonly run: () => unknown;
}

/** A file or a `describe`, in order of declaration. */
export interface Suite {
  readonly children: (Suite | Test)[];
  readonly before: { readonly all: Body[]; readonly each: Body[] };
  readonly after: { readonly all: Body[]; readonly each: Body[] };
}

let file = '';
let count = 0;
let current = suite();

function suite(): Suite {
  return { children: [], before: { all: [], each: [] }, after: { all: [], each: [] } };
}

/** Collects the tests that `load`, the import of `path`, declares. */
export async function collect(path: string, load: () => Promise<unknown>): Promise<Suite> {
  const collected = suite();
  [file, count, current] = [path, 0, collected];
  await load();
  return collected;
}

function declareTest(name: string, ...rest: readonly unknown[]): void {
  const run = rest.find((each) => typeof each === 'function') as Body;
  if (measuresTime(run)) return;
  current.children.push({ id: `${file}#${count}`, name, run: () => run() });
  count += 1;
}

/** Whether a test measures time. The result would depend on the machine and its other load. */
function measuresTime(body: Body): boolean {
  return /performance\.now|cpuTime/.test(String(body));
}

function declareSuite(_name: string, body: Body): void {
  const outer = current;
  const inner = suite();
  outer.children.push(inner);
  current = inner;
  body();
  current = outer;
}

/** `each` passes the items of a row that is a list as arguments. `for` passes the row. */
function tabled(declare: (name: string, body: Body) => void): Record<'each' | 'for', unknown> {
  const over =
    (argumentsOf: (row: never) => readonly never[]) => (rows: readonly never[]) => (name: string, body: Body) => {
      for (const row of rows) {
        const run = (): unknown => body(...argumentsOf(row));
        // {@link measuresTime} reads it.
        run.toString = () => String(body);
        declare(name, run);
      }
    };
  return { each: over((row) => (Array.isArray(row) ? row : [row])), for: over((row) => [row]) };
}

const skipIf = (isSkipped: unknown): typeof declareTest => (isSkipped ? () => {} : declareTest);

export const test = Object.assign(declareTest, { skipIf, ...tabled(declareTest) });
export const describe = Object.assign(declareSuite, tabled(declareSuite));
export const beforeAll = (body: Body): unknown => current.before.all.push(body);
export const beforeEach = (body: Body): unknown => current.before.each.push(body);
export const afterAll = (body: Body): unknown => current.after.all.push(body);
export const afterEach = (body: Body): unknown => current.after.each.push(body);

/** vitest's own `expect`. `expect.soft` fails at once. */
export const expect = new Proxy(real, { get: (all, name) => (name === 'soft' ? all : Reflect.get(all, name)) });
