import { plainName } from '../../lib/look-alike.ts';
import { knownRequests, mcpMethod, mistakenFor, type ListedKind } from '../../model/mcp.ts';
import { plainUri, uriFlaw } from '../resources.ts';
import type { NameKind } from './names.ts';

/** What names of tools and prompts are like. */
const plainNames: NameKind = {
  star: String.raw`[\s\S]*`,
  samples: { star: ['x', '', 'xx'], any: ['x', '', 'xx'], fresh: ['x', 'xx', 'x_1'] },
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
  star: '[^/?#]*',
  samples: { star: ['x', '', 'xx'], any: ['x', 'x/x', 'x://x'], fresh: ['x://x', 'y://y', 'x'] },
  sources: [canonicalUri, '[?#]'],
  plain: plainUri,
  ends: '?#',
  isMisspelled: (uri) => uriFlaw(uri) !== undefined || plainUri(uri) !== uri,
};

const methods: NameKind = {
  ...plainNames,
  samples: { ...plainNames.samples, fresh: ['x', 'x/list', 'notifications/x'] },
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

/** What names of each kind are like. */
export const nameKinds: Readonly<Record<ListedKind, NameKind>> = {
  tool: plainNames,
  prompt: plainNames,
  resource: uris,
  template: uris,
  method: methods,
};
