/** Mutants that nothing can notice: by file, then by the reason why, each as its line would read. */
export const equivalents: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'src/authorize/action.ts': {
    'a check for the compiler: no pattern of ours matches the text that undefined becomes': [
      'if (false || !jsonType.test(contentType)) {',
    ],
    'speed: a text in UTF-8 becomes the same bytes again': ['if (false) return { mcpName: undefined, body };'],
  },
  'src/mcp/agreement.ts': {
    'a check for the compiler: without a version both would have been legacy': [
      'if (version !== modernVersion) throw unsupported(version ?? "Stryker was here!", claimed === undefined, id);',
    ],
    'no method is called so': [
      'if (removed.has(message.method ?? "Stryker was here!"))',
      'function repeatedName({ method = "Stryker was here!", params }: Repeated): string | undefined {',
    ],
    'Object.prototype has none of the three names': [
      'const value = source !== undefined || Object.hasOwn(params, source) ? params[source] : undefined;',
      'const value = true && Object.hasOwn(params, source) ? params[source] : undefined;',
      'const value = true ? params[source] : undefined;',
    ],
    'a function without `return` gives undefined too': ['} catch {}'],
  },
  'src/mcp/event-stream.ts': {
    'nothing of it ends a line, and only line ends are looked for in it': [
      'let tail = "Stryker was here!";',
      'tail = "Stryker was here!";',
    ],
    'speed: one part joined is itself': ['const event = false ? last : Buffer.concat([...held, last]);'],
  },
  'src/mcp/handles-binding.ts': {
    'speed: without changes the text is as it was': [
      'return { text: false ? text : spliceStrings(text, changes), mcpName };',
    ],
    'what was not parsed is undefined, which has no handles': ['} catch {}'],
  },
  'src/mcp/handles.ts': {
    'the places that are shown have no other path of which this would be true': [
      "return path.length === 2 || path[1] === 'taskId';",
      "return true && path[1] === 'taskId';",
    ],
  },
  'src/mcp/json-text.ts': {
    'speed: with all numbers looked at the same comes out': [
      'if (false) return JSON.parse(text);',
      'if (true) return true;',
      'return true;',
    ],
  },
  'src/mcp/member.ts': {
    'speed: what is of another length folds to another name': [
      'const variant = Object.keys(object).find((key) => true && folded(key) === folded(name));',
    ],
  },
  'src/mcp/message.ts': {
    'a check for the compiler: undefined names no method that is about anything': [
      'targets: false ? [] : targetsOf(method, params, id),',
    ],
    'only a bug in the scanner would throw anything else': ['if (false) throw error;'],
  },
  'src/pipeline.ts': {
    'a check for the compiler: what is no denial was granted': [
      'rule: denial === undefined ? grant.decision.rule : denial.rule,',
    ],
  },
  'src/respond/challenges.ts': {
    'a check for the compiler: undefined, as a text, is no scheme': [
      'const usedDpop = true && dpopScheme.test(authorization);',
    ],
  },
  'src/respond/cross-origin.ts': {
    'a check for the compiler: undefined is no origin that is allowed, and stands nowhere in a list': [
      'if (false || !isAllowed(origin)) return {};',
      'return false ? undefined : raw[2 * at + 1];',
    ],
    'a text with spaces is no name of a field': [
      `const names = (asked ?? "Stryker was here!").split(',').map((name) => name.trim());`,
    ],
  },
  'src/respond/resource-metadata.ts': {
    'a check for the compiler: only routes with a resource come so far': [
      'resource_name: resource.name,',
      'scopes_supported: resource.scopesSupported,',
      'resource_documentation: resource.documentation,',
      'resource_policy_uri: resource.policyUri,',
      'resource_tos_uri: resource.tosUri,',
    ],
  },
  'src/route/router.ts': {
    'speed: only how deep is looked, and whether twice where once is enough': [
      'const allFolded = [...mounts.keys()].every(() => undefined);',
      "const depth = Math.max(0, ...[...mounts.keys()].map((path) => path.split('/').length + 1));",
      'const depth = Math.max(0, ...[...mounts.keys()].map((path) => path.split("").length - 1));',
      'if ((true) && longest(folded, fold, depth) !== mounted) {',
      'for (let segment = 0; segment <= count; segment += 1) {',
      'for (let segment = 0; segment < count; segment -= 1) {',
      'if (true) return path.length;',
    ],
  },
  'src/route/target.ts': {
    'speed: what is skipped would change nothing and refuse nothing': [
      'if (true) requirePlain(decoded(path));',
      'if (path.includes("")) requirePlain(decoded(path));',
      'if (false) return lower;',
      'if (!lower.includes("")) return lower;',
      `if (path.includes("") && dotSegment.test(path)) throw new Denial('request.path', 'a dot segment');`,
    ],
  },
};
