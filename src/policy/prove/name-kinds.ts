import { plainName } from '../../lib/look-alike.ts';
import { knownRequests, mcpMethod, mistakenFor, type ListedKind } from '../../model/mcp.ts';
import {
  distinguishedRequests,
  haveCommonRequest,
  plainRequest,
  requestFlaw,
  requestPattern,
} from '../request-pattern.ts';
import { plainUri, uriFlaw } from '../resources.ts';

/** What names of a kind are like. */
export interface NameKind {
  /** Whether the name of an entry covers other names. */
  readonly isPattern: (name: string) => boolean;
  /** The names that an entry covers, as a regular expression. */
  readonly sourceOf: (pattern: string) => string;
  /** Whether two patterns may cover one name. True where that is not known. */
  readonly mayMeet: (one: string, other: string) => boolean;
  /** Names that a pattern covers. */
  readonly samplesOf: (pattern: string) => readonly string[];
  /** Names of which no policy has heard. */
  readonly fresh: readonly string[];
  /** The names that calls can have, as a regular expression, and exactly. */
  readonly possible: string;
  readonly isPossible: (name: string) => boolean;
  /**
   * A name for each combination of entries, of which there is no other; undefined: that is not known.
   *
   * @param mentions Texts of predicates.
   */
  readonly all: ((patterns: readonly string[], mentions: readonly string[]) => readonly string[]) | undefined;
  /** Regular expressions that tell names apart besides the entries. */
  readonly sources: readonly string[];
  /** Names that each have a class of their own. */
  readonly known: readonly string[];
  /** What a decision depends on besides the entry. */
  readonly classOf: (name: string) => string;
  /** The classes of which there may be any number of names. */
  readonly classes: readonly string[];
  /** How a lenient server reads a name. A pattern covers no name that such a server reads as one of another entry. */
  readonly plain: (name: string) => string;
  /** Characters at which some servers end a name. */
  readonly ends: string;
  /** Whether the gateway refuses a name, which a pattern covers, for its mere spelling. */
  readonly isMisspelled: (name: string) => boolean;
}

/** What names of tools and prompts are like. */
const plainNames: NameKind = {
  isPattern: (name) => name.includes('*'),
  sourceOf: (pattern) => withStars(pattern, String.raw`[\s\S]*`),
  mayMeet,
  samplesOf: (pattern) => ['x', '', 'xx'].map((any) => pattern.replaceAll(/\*+/g, any)),
  fresh: ['x', 'xx', 'x_1'],
  possible: '',
  isPossible: () => true,
  all: undefined,
  sources: [],
  known: [],
  classOf: () => '',
  classes: [''],
  plain: plainName,
  ends: '',
  isMisspelled: (name) => plainName(name) !== name,
};

/** URIs, most of them in canonical form. */
const canonicalUri = '^[a-z]+:/{0,3}[A-Za-z0-9]+(?:[/?#&=_.-][A-Za-z0-9]+)*$';

const uris: NameKind = {
  ...plainNames,
  sourceOf: (pattern) => withStars(pattern, '[^/?#]*'),
  samplesOf: (pattern) =>
    (
      [
        ['x', 'x'],
        ['', 'x/x'],
        ['xx', 'x://x'],
      ] as const
    ).map(([star, any]) => pattern.replaceAll(/\*+/g, (stars) => (stars.length > 1 ? any : star))),
  fresh: ['x://x', 'y://y', 'x'],
  sources: [canonicalUri, '[?#]'],
  plain: plainUri,
  ends: '?#',
  isMisspelled: (uri) => uriFlaw(uri) !== undefined || plainUri(uri) !== uri,
};

const methods: NameKind = {
  ...plainNames,
  fresh: ['x', 'x/list', 'notifications/x'],
  sources: ['^notifications/', '^tasks/', '/list$'],
  known: [...knownRequests.keys()],
  classOf: methodClass,
  classes: ['entry', 'exact entry', 'housekeeping'],
  isMisspelled: (name) =>
    methodClass(name) !== 'exact entry' && (mistakenFor(name) !== undefined || plainName(name) !== name),
};

/** What allows a method, and which kind of target it needs. */
function methodClass(name: string): string {
  const { allowedBy, target } = mcpMethod(name);
  return allowedBy === 'target' ? target.kind : allowedBy;
}

const anyMethod = '[A-Z]+(?:-[A-Z]+)*';
const hex = '[0-9A-Fa-f]';
const tail = `%[89ABab]${hex}`;
/** What a segment may have besides dots: plain characters, encoded ones that are no delimiters, and UTF-8. */
const unit = [
  "[A-Za-z0-9_~!$&'()*+,=:@-]",
  '%(?:2[0-46-9A-Ca-c]|3[AC-Fac-f]|40|5[BDEbde]|60|7[B-Db-d])',
  `%(?:[Cc][2-9A-Fa-f]|[Dd]${hex})${tail}`,
  `%[Ee](?:0%[ABab]${hex}|[1-9A-Ca-cEFef]${tail}|[Dd]%[89]${hex})${tail}`,
  `%[Ff](?:0%[9ABab]${hex}|[1-3]${tail}|4%8${hex})${tail}${tail}`,
].join('|');
/** A segment that is neither empty nor a dot segment. */
const segment = String.raw`(?:\.{0,2}(?:${unit})(?:${unit}|\.)*|\.{3}(?:${unit}|\.)*)`;

const requests: NameKind = {
  ...plainNames,
  // `GET` covers HEAD.
  isPattern: () => true,
  sourceOf(pattern) {
    const { method, segments, hasRest } = requestPattern(pattern);
    const named = method === 'GET' ? '(?:GET|HEAD)' : literal(method);
    const path = segments.map((each) => (each === undefined ? '/[^/]+' : `/${literal(each)}`)).join('');
    return `^${method === '*' ? anyMethod : named} ${path}${hasRest ? String.raw`(?:/[\s\S]*)?` : ''}$`;
  },
  mayMeet: haveCommonRequest,
  samplesOf(pattern) {
    const { method, segments, hasRest } = requestPattern(pattern);
    const named = method === 'GET' ? ['GET', 'HEAD'] : [method];
    const rests = hasRest ? ['', '/', '/x', '/x/x', '/xx'] : [''];
    const paths = ['x', 'xx'].flatMap((any) =>
      rests.map((rest) => segments.map((each) => `/${each ?? any}`).join('') + rest),
    );
    return (method === '*' ? ['GET', 'POST', 'X'] : named).flatMap((each) => paths.map((path) => `${each} ${path}`));
  },
  fresh: [],
  possible: `^${anyMethod} (?:/|(?:/${segment})+/?)$`,
  isPossible: (name) => requestFlaw(name, 'requests') === undefined,
  all: distinguishedRequests,
  sources: [`^${anyMethod} (?:/|(?:/[a-z0-9]+(?:[._-][a-z0-9]+)*)+)$`],
  plain: plainRequest,
  isMisspelled: (name) => plainRequest(name) !== name,
};

/** What names of each kind are like. */
export const nameKinds: Readonly<Record<ListedKind, NameKind>> = {
  tool: plainNames,
  prompt: plainNames,
  resource: uris,
  template: uris,
  method: methods,
  request: requests,
};

/** Whether two patterns can cover one name, as far as their beginnings and ends say. */
function mayMeet(one: string, other: string): boolean {
  const [ownStart = '', otherStart = ''] = [one, other].map((name) => name.slice(0, name.indexOf('*')));
  const [ownEnd = '', otherEnd = ''] = [one, other].map((name) => name.slice(name.lastIndexOf('*') + 1));
  const starts = ownStart.startsWith(otherStart) || otherStart.startsWith(ownStart);
  return starts && (ownEnd.endsWith(otherEnd) || otherEnd.endsWith(ownEnd));
}

/** A pattern as a regular expression, where `*` stands for `star` and `**` for anything. */
function withStars(pattern: string, star: string): string {
  const parts = pattern.split(/(\*+)/).map((part, index) => {
    if (index % 2 === 0) return literal(part);
    return part.length > 1 ? String.raw`[\s\S]*` : star;
  });
  return `^${parts.join('')}$`;
}

/** A text as a regular expression. */
function literal(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
