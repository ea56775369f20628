import type { Ignorer } from '@stryker-mutator/api/ignore';
import { PluginKind } from '@stryker-mutator/api/plugin';

/** The members of Babel's path to a piece of syntax that this file uses. Stryker leaves the path untyped. */
interface Path {
  readonly node: {
    readonly value?: unknown;
    readonly callee?: { readonly name?: string };
    readonly id?: { readonly name?: string } | null;
    readonly returnType?: { readonly typeAnnotation?: { readonly typeName?: { readonly name?: string } } };
  };
  /** The list of the parent that contains it, and the place in that list. */
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
 * Leaves out the texts of refusals and errors. Operators read them, no code depends on them, and a test could only
 * repeat them. All other strings are names on the wire, in the log or in files, and are mutated.
 */
const prose: Ignorer = {
  shouldIgnore(syntax) {
    const path = syntax as Path;
    return isText(path) && path.findParent(isRefusal) !== null ? 'words for operators' : undefined;
  },
};

/** A text with spaces, or the second argument of a `Denial`. */
function isText(path: Path): boolean {
  if (!path.isStringLiteral()) return path.isTemplateLiteral();
  return String(path.node.value).includes(' ') || (path.listKey === 'arguments' && path.key === 1);
}

const refusal = /(?:Denial|Error|Flaw)$/;

/** A `throw`, the construction of an error, or a function that returns an error or is named after the flaw it finds. */
function isRefusal(path: Path): boolean {
  if (path.isThrowStatement()) return true;
  if (path.isNewExpression()) return refusal.test(path.node.callee?.name ?? '');
  const { id, returnType } = path.node;
  return (
    path.isFunction() && [id?.name, returnType?.typeAnnotation?.typeName?.name].some((name) => refusal.test(name ?? ''))
  );
}

/** The export that Stryker reads from a plugin. */
export const strykerPlugins = [{ kind: PluginKind.Ignore, name: 'prose', value: prose }];
