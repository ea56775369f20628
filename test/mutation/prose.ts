import type { Ignorer } from '@stryker-mutator/api/ignore';
import { PluginKind } from '@stryker-mutator/api/plugin';

/** What is needed here of Babel's path to a piece of syntax, which Stryker leaves untyped. */
interface Path {
  readonly node: {
    readonly value?: unknown;
    readonly callee?: { readonly name?: string };
    readonly returnType?: { readonly typeAnnotation?: { readonly typeName?: { readonly name?: string } } };
  };
  /** In which list of its parent it stands, and where. */
  readonly listKey?: string;
  readonly key: string | number | null;
  isStringLiteral(): boolean;
  isTemplateLiteral(): boolean;
  isThrowStatement(): boolean;
  isNewExpression(): boolean;
  isFunction(): boolean;
  findParent(is: (parent: Path) => boolean): Path | null;
}

/**
 * Leaves out what refusals and errors say in words: it is for operators, nothing depends on it, and a test that repeats
 * it would only say it twice. Any other string is a name on the wire, in the log or in a file, and mutants are made of it.
 */
const prose: Ignorer = {
  shouldIgnore(syntax) {
    const path = syntax as Path;
    return isText(path) && path.findParent(isRefusal) !== null ? 'words for operators' : undefined;
  },
};

/** In words, or what follows the reason of a `Denial`. */
function isText(path: Path): boolean {
  if (!path.isStringLiteral()) return path.isTemplateLiteral();
  return String(path.node.value).includes(' ') || (path.listKey === 'arguments' && path.key === 1);
}

const refusal = /(?:Denial|Error)$/;

/** What is thrown, what becomes an error, and functions that return one. */
function isRefusal(path: Path): boolean {
  if (path.isThrowStatement()) return true;
  if (path.isNewExpression()) return refusal.test(path.node.callee?.name ?? '');
  return path.isFunction() && refusal.test(path.node.returnType?.typeAnnotation?.typeName?.name ?? '');
}

/** What Stryker looks for in a plugin. */
export const strykerPlugins = [{ kind: PluginKind.Ignore, name: 'prose', value: prose }];
