/**
 * @module Texts that are compared as they are written and look as if they were not: as a pattern, a regular expression,
 * a path or a variable. Each function gives what is wrong and what to write instead; undefined for a plain text.
 */

import { describeValue } from '../core/lib/json/describe-value.ts';

/**
 * The mistake in a text that a condition compares with a whole value.
 *
 * @param isPlain Whether the file has it without quotes.
 */
export function textMistake(text: string, { isPlain }: { readonly isPlain: boolean }): string | undefined {
  const meant = `{ matches: ${describeValue(`^${escaped(text)}$`)} } if this text is meant`;
  const literal = `${describeValue(text)} is compared as it is written`;
  if (/^\{ *claim: *[^{}]+\}$/.test(text)) return `${literal}; write ${text} without quotes`;
  if (isPlain && /^(?:[Yy]es|[Nn]o|[Oo]n|[Oo]ff)$/.test(text)) {
    const truth = /^(?:yes|on)$/i.test(text);
    return `${describeValue(text)} is a text in YAML 1.2; write ${truth}, or put the text in quotes`;
  }
  const comparison = comparisonOf(text);
  if (comparison !== undefined) return `${literal}; write ${comparison}, or ${meant}`;
  if (isVariable(text)) return `${literal}, and names no variable; ${claimRemedy(text)}, or ${meant}`;
  if (isExpression(text)) return `${literal}; write { matches: ${describeValue(text)} }, or ${meant}`;
  if (text === '*') return `${literal}; write { present: true } for any value, or ${meant}`;
  if (text.includes('*')) return `${literal}; write { matches: ${describeValue(expressionOf(text))} }, or ${meant}`;
  const [, list] = /\{([^{}]*,[^{}]*)\}/.exec(text) ?? [];
  return list === undefined ? undefined : `${literal}; write a list of the values, or ${meant}`;
}

/** The mistake in a text that is compared with the elements of a list: a scope, or what `contains` wants. */
export function elementMistake(text: string): string | undefined {
  // `orders:*` is the name of a right in many systems.
  const isPattern = /^\*.|[^:./]\*$|\{[^{}]*,[^{}]*\}/.test(text) || isVariable(text) || isExpression(text);
  return isPattern ? `${describeValue(text)} is compared as it is written; name each value that is meant` : undefined;
}

function isExpression(text: string): boolean {
  // Not `\d` alone, which `ACME\dora` has, and not `$` alone, which `US$` has.
  return /^\^|\.[*+]|\\[dwsDWS][*+{]|\\\.|\(\?|\][*+{]|[\])*+}]\$$/.test(text);
}

function isVariable(text: string): boolean {
  return /\{\{.*\}\}|^\{[A-Za-z_][\w.]*\}$|^\$\.?[A-Za-z_][\w]*(?:\.\w+)*$/.test(text);
}

/** The condition that a text such as `<= 1000` seems to mean. */
function comparisonOf(text: string): string | undefined {
  const [, operator = '', bound] = /^(<=?|>=?|[!=]?==?) *(-?\d+(?:\.\d+)?)$/.exec(text) ?? [];
  if (bound === undefined) return undefined;
  const key = { '<': 'below', '<=': 'at_most', '>': 'above', '>=': 'at_least' }[operator];
  if (key !== undefined) return `{ ${key}: ${bound} }`;
  return operator.startsWith('!') ? `{ not: ${bound} }` : bound;
}

/** What to write in place of a variable of another language, such as `${claims.sub}`, where a value is compared. */
export function claimRemedy(variable: string): string {
  const path = variable
    .replaceAll(/[${}\s]/g, '')
    .replace(/^\.?(?:(?:caller|claims?|jwt|principal|token|user)[.:])*/, '');
  const name = /^\w+$/.test(path) ? path : /^\w+(?:\.\w+)+$/.test(path) ? `/${path.replaceAll('.', '/')}` : 'NAME';
  return `write { claim: ${name} } for a claim of the caller`;
}

/** The mistake in a prefix of `within`, which is compared segment by segment. */
export function prefixMistake(text: string): string | undefined {
  const literal = `${describeValue(text)} is compared as it is written`;
  if (isVariable(text) || /\{[^{}]*\}/.test(text)) return `${literal}; write a list such as [/data, { claim: NAME }]`;
  return text.includes('*') ? `${literal}; write the path alone: what is below it is within it` : undefined;
}

/** A regular expression that matches what a pattern with `*` seems to mean. */
function expressionOf(pattern: string): string {
  const inner = pattern.replace(/^\*+/, '').replace(/\*+$/, '').split(/\*+/).map(escaped).join('.*');
  return `${pattern.startsWith('*') ? '' : '^'}${inner}${pattern.endsWith('*') ? '' : '$'}`;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** The mistake in the name of an entry of a policy, in which `*` alone has a meaning. */
export function nameMistake(
  key: 'tools' | 'prompts' | 'methods' | 'resources' | 'requests',
  name: string,
): string | undefined {
  const [quote] = /[\u2018-\u201F\u00AB\u00BB]/.exec(name) ?? [];
  if (quote !== undefined) return `${describeValue(name)} has the typographic quote ${quote}; write a name without it`;
  if (key === 'requests') return requestMistake(name);
  if (/^\^|\\|\$$/.test(name) || (key !== 'resources' && /(?:^|[_/-])\.\*|[{}[\]()|]/.test(name))) {
    const remedy = 'write * for any run of characters, and an entry for each other name';
    return `${describeValue(name)} is no regular expression: every character but * stands for itself; ${remedy}`;
  }
  if (key !== 'tools') return undefined;
  const [odd] = /[^\p{L}\p{M}\p{N}_./:@*-]/u.exec(name) ?? [];
  if (odd === undefined) return undefined;
  const what = odd === ' ' ? 'a space' : describeValue(odd);
  return `${describeValue(name)} has ${what}, which names of MCP tools do not have`;
}

function requestMistake(name: string): string | undefined {
  const [parameter] = /(?<=\/):[A-Za-z_]\w*(?=\/|$)/.exec(name) ?? [];
  if (parameter !== undefined) {
    const remedy = `write {${parameter.slice(1)}} or * for any segment`;
    return `covers only the path with ${JSON.stringify(parameter)} itself; ${remedy}`;
  }
  const [part] = /(?<=\/)[^/]*(?:\\|\)|\]|\$$|\+$)[^/]*/.exec(name) ?? [];
  return part === undefined
    ? undefined
    : `covers only the path with ${describeValue(part)} itself; write * for any segment`;
}
