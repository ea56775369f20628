/**
 * @module Variables in the URI or the request of a call. Each place where a text may stand is an unknown, like an
 * argument. Two keys that name the same place share it, whatever they call it. Places of which that is not known are
 * independent: more calls are looked at than exist, and an example counts only if its name is decided by the same
 * entries.
 */

import { uriVariable, withoutVariables } from '../../core/policy/pattern.ts';
import type { Predicate } from '../../core/policy/predicate.ts';
import { methodAndSegments, segmentOf } from '../../core/policy/requests.ts';
import { type VariableCondition, variableValue } from '../../core/policy/variable.ts';
import { matching, predicate } from './candidates.ts';
import { Undecidable } from './text-automaton.ts';

/** A place in the names of calls. */
export interface TargetPlace {
  /** Equal for equal places. No JSON Pointer is read from it. */
  readonly id: string;
  /** The text that an entry has there; undefined: any. A text may be one that decodes to no segment. */
  readonly fixedBy: (entry: string) => { readonly value: string | undefined } | undefined;
  /** Whether a call may have a text there that decodes to no segment: it meets no condition. */
  readonly mayBeBroken: boolean;
  /** A name with another text at the place. */
  readonly written: (name: string, text: string) => string;
}

/** The place that a variable of a key stands for. */
export function placeOf({ key, entry, name }: VariableCondition): TargetPlace {
  return key === 'requests' ? segmentPlace(segmentOf(entry, name)) : uriPlace(entry, name);
}

function segmentPlace(index: number): TargetPlace {
  return {
    id: `segment ${index}`,
    mayBeBroken: false,
    fixedBy(entry) {
      const [, segments] = methodAndSegments(entry);
      const own = segments[index];
      return own === undefined || isPattern(own) ? undefined : { value: variableValue(own) };
    },
    written(name, text) {
      const [method, segments] = methodAndSegments(name);
      return `${method} ${['', ...segments.with(index, text)].join('/')}`;
    },
  };
}

function uriPlace(entry: string, name: string): TargetPlace {
  const written = `{${name}}`;
  const start = entry.indexOf(written);
  const prefix = entry.slice(0, start);
  const isWhole = /^(?:$|[/?#])/.test(entry.slice(start + written.length));
  // A segment after a literal text is the same place in every key.
  if (isWhole && !isPattern(prefix)) {
    const after = (uri: string): string => /^[^/?#]*/.exec(uri.slice(prefix.length))?.[0] ?? '';
    return {
      id: `after ${prefix}`,
      mayBeBroken: true,
      fixedBy(other) {
        if (!other.startsWith(prefix) || isPattern(after(other))) return undefined;
        return { value: variableValue(after(other)) };
      },
      written: (uri, text) => prefix + text + uri.slice(prefix.length + after(uri).length),
    };
  }
  const textsIn = uriVariable(entry, name);
  return {
    id: `${name} of ${entry}`,
    mayBeBroken: true,
    fixedBy(other) {
      if (isPattern(other)) return undefined;
      const texts = textsIn(other);
      if (texts.length > 1) throw new Undecidable(`the variable ${name}, which can be read in several ways`);
      const [text] = texts;
      return text === undefined ? undefined : { value: variableValue(text) };
    },
    written: (uri, text) => {
      const [own] = textsIn(uri);
      return own === undefined ? uri : uri.replace(own, () => text);
    },
  };
}

function isPattern(key: string): boolean {
  return withoutVariables(key).includes('*');
}

/** Holds for texts that a variable can stand for. */
export const isText = matching(String.raw`^[^/\\\x00-\x1f\x7f-\x9f]+$`);

/** Holds for one text. */
export function isExactly(text: string): Predicate {
  return predicate({ kind: 'scalars', scalars: [text], integer: false }, (value) => value === text);
}
