import { describeValue } from '../core/lib/json/describe-value.ts';
import { pointerStep } from '../core/lib/json/pointer.ts';

/** The mistake in the name of a claim: the path to a member in a notation other than a JSON Pointer. */
export function claimPathMistake(name: string): string | undefined {
  const steps = stepsOf(name);
  if (steps === undefined) return undefined;
  const literal = `${describeValue(name)} names one claim, not a path`;
  const [first = '', second, ...others] = steps;
  if (second !== undefined && others.length === 0 && /^(?:claims?|token|jwt)$/i.test(first)) {
    return `${literal}; write ${describeValue(second)}`;
  }
  const pointer = steps.length === 1 ? first : steps.map(pointerStep).join('');
  return `${literal}; write ${describeValue(pointer)}, or ${describeValue(pointerStep(name))} if this name is meant`;
}

const step = String.raw`[A-Za-z_][\w-]*`;
const dotted = new RegExp(String.raw`^(?:\$\.?)?${step}(?:\.[\w-]+|\[(?:\d+|'[^']*'|"[^"]*")\])+$`);
const slashed = new RegExp(String.raw`^${step}(?:/[\w-]+)+$`);

function stepsOf(name: string): readonly string[] | undefined {
  if (slashed.test(name)) return name.split('/');
  if (!dotted.test(name) && !/^\$\.\w/.test(name)) return undefined;
  const steps = name.replace(/^\$\.?/, '').match(/\[[^\]]*\]|[^.[]+/g) ?? [];
  return steps.map((each) => each.replaceAll(/^\[['"]?|['"]?\]$/g, ''));
}
