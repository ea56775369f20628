/** Mutants that nothing can notice: by file, then by the reason why, each as its line would read. */
export const equivalents: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'src/authenticate/authenticator.ts': {
    'no opaque token has a space': [
      'const prefixes = [...clients.values()].flatMap(({ server }) => server.introspection?.prefix ?? ["Stryker was here"]);',
    ],
  },
  'src/authorization-server/client-authentication.ts': {
    'JSON leaves out what is undefined': ['...(true && { kid: keyId }),'],
  },
  'src/authenticate/credentials.ts': {
    'speed: only what could be the parameter is parsed': [
      'if (false) return false;',
      `if (!query.includes("") && !query.includes('%')) return false;`,
      `if (!query.includes('access_token') && !query.includes("")) return false;`,
    ],
  },
  'src/authenticate/dpop-proof.ts': {
    'a check for the compiler: only names are accepted, and only numbers are finite': [
      'if (false || !algorithms.has(algorithm))',
      "if (false || !Number.isFinite(iat)) throw invalid('has no iat');",
    ],
  },
  'src/authenticate/jwt.ts': {
    'a function without `return` gives undefined too': ['} catch {}'],
  },
  'src/authenticate/keys.ts': {
    'a check for the compiler: where there are none, they are too old': ['if (false || !isUsable(ageMs)) {'],
    'nothing is read of it before the first attempt': ['let triedAt = +Infinity;'],
    'nobody has them renewed so soon, unless an attempt failed': [
      'if (true && clock() - triedAt < cooldownMs) return Promise.reject(failure);',
    ],
    'any order serves, and no two members have one name': [
      'return JSON.stringify(Object.entries(key).toSorted(([one], [other]) => (one <= other ? -1 : 1)));',
      'return JSON.stringify(Object.entries(key).toSorted(([one], [other]) => (one >= other ? -1 : 1)));',
    ],
  },
  'src/authenticate/nonces.ts': {
    'speed: of one window the same comes out': ['if (false) return newest;'],
  },
  'src/authenticate/principal.ts': {
    'a check for the compiler: only numbers are finite': ['if (true && Number.isFinite(value)) return value;'],
  },
  'src/authenticate/proof-check.ts': {
    'a check for the compiler: no kind of key that is read is symmetric': [
      "if (false) throw invalid('jwk is symmetric');",
    ],
    'only a bug in jose would throw anything else': ['if (false) throw error;'],
    'said twice: the same header was read before, and its algorithm is an accepted one': [
      'await compactVerify(text, imported, {});',
    ],
  },
  'src/authenticate/proof-key.ts': {
    'no two members have one name': [
      'const members = Object.entries(key).toSorted(([one], [other]) => (one <= other ? -1 : 1));',
    ],
  },
  'src/authenticate/proof-target.ts': {
    'both of what is compared are made alike': ['return unreserved.test(character) ? character : octet.toLowerCase();'],
  },
  'src/authenticate/shared-introspection.ts': {
    'a check for the compiler: what is no object has no claims': ['if (false || answer === null) return false;'],
    'only a bug would throw anything else': ['} catch (error) {}', 'if (true) return undefined;'],
  },
  'src/authenticate/token-key.ts': {
    'speed: the same hash comes out again': ['if (false) return known;', ';'],
  },
  'src/authorize/action.ts': {
    'a check for the compiler: no pattern of ours matches the text that undefined becomes': [
      'if (false || !jsonType.test(contentType)) {',
    ],
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
  },
  'src/mcp/event-stream.ts': {
    'nothing of it ends a line, and only line ends are looked for in it': [
      'let tail = "Stryker was here!";',
      'tail = "Stryker was here!";',
    ],
    'speed: one part joined is itself': ['const event = false ? last : Buffer.concat([...held, last]);'],
  },
  'src/mcp/field-value.ts': {
    'a function without `return` gives undefined too': ['} catch {}'],
  },
  'src/mcp/handles-binding.ts': {
    'speed: without changes the text is as it was': [
      'return { text: false ? text : spliceStrings(text, changes), mcpName, tasks };',
    ],
    'what was not parsed is undefined, which has no handles': ['} catch {}'],
    'no method is called so': [
      'return [...owner, kind, method ?? "Stryker was here!", ...targets.flatMap((target) => [target.kind, target.name])];',
    ],
  },
  'src/mcp/handles-splice.ts': {
    'a check for the compiler: no path is empty': ['changes.set(change.path.at(-1) ?? "Stryker was here!", change);'],
  },
  'src/mcp/handles.ts': {
    'the places that are shown have no other path of which this would be true': [
      "return path.length === 2 || path[1] === 'taskId';",
      "return true && path[1] === 'taskId';",
    ],
    'what has no value is no handle, and has nothing below it': [
      `return Array.isArray(value) ? value.map((entry, i) => ({ path: [...above, String(i)], value: entry })) : ["Stryker was here"];`,
      `return isObject(value) && Object.hasOwn(value, step) ? [{ path: [...above, step], value: value[step] }] : ["Stryker was here"];`,
    ],
  },
  'src/json/lossless.ts': {
    'speed: with all numbers looked at the same comes out': [
      'if (false) return JSON.parse(text);',
      'if (true) return true;',
      'return true;',
    ],
  },
  'src/mcp/lists.ts': {
    'a check for the compiler: no text, number or boolean has members of the names that are read': [
      'return true && value !== null && !Array.isArray(value);',
    ],
  },
  'src/mcp/message.ts': {
    'a check for the compiler: undefined names no method that is about anything': [
      'targets: false ? [] : targetsOf(method, params, id),',
    ],
    'only a bug in the scanner would throw anything else': ['if (false) throw error;'],
  },
  'src/mcp/owner-bound.ts': {
    'nobody finds a text that is the MAC of most of itself': ['if (false) return undefined;'],
  },
  'src/mcp/param-headers.ts': {
    'a check for the compiler: only numbers are finite': ['if (false || !Number.isFinite(value)) return undefined;'],
    'a check for the compiler: undefined as a text is no decimal': [
      'return true && decimal.test(sent) && Number(sent) === Number(wanted);',
    ],
  },
  'src/mcp/tasks-extension.ts': {
    'a check for the compiler: no text, number or boolean has members of these names': [
      'if (false || value === null || !Object.hasOwn(value, key)) return false;',
    ],
  },
  'src/mcp/tool-headers.ts': {
    'what has no name and no schema declares nothing': [
      'if (!Array.isArray(tools)) return ["Stryker was here"];',
      `return typeof name === 'string' && name.length <= MAX_KEY ? [{ name, inputSchema: at(tool, 'inputSchema') }] : ["Stryker was here"];`,
    ],
    'a function without `return` gives undefined too': ['} catch {}'],
  },
  'src/pipeline.ts': {
    'a check for the compiler: what is no denial was granted': [
      'rule: denial === undefined ? grant.decision.rule : denial.rule,',
    ],
  },
  'src/policy/asked-entries.ts': {
    'a check for the compiler: undefined is no method that acts on anything': [
      'const kind = false ? undefined : targetKinds.get(method);',
    ],
  },
  'src/policy/could-call.ts': {
    'what throws cannot be called either': [
      'const entry = listing[kind](name);',
      "if (false || judge(entry.condition, principal) === 'refused') return false;",
    ],
  },
  'src/policy/denial.ts': {
    'a check for the compiler: one of several gave them the verdict that they have together': [
      'if (condition === undefined) ;',
      'if (false) throw new TypeError(`no condition is ${verdict}`);',
    ],
    'a check for the compiler: one of the predicates of a refused claim fails': [
      'return `claim ${name}: wanted ${failed.wanted}, found ${describeValue(found)}`;',
    ],
  },
  'src/policy/explain.ts': {
    'a function without `return` gives undefined too': ['} catch {}'],
  },
  'src/policy/look-alikes.ts': {
    'nobody looks at these faults': ['["Stryker was here"],'],
    'speed: where all is folded, the second table finds what the first one found': [
      'if (false) return false;',
      'const allFolded = entries.every(() => undefined);',
      'const allFolded = entries.every(({ name }) => false);',
    ],
    'no folded name is covered by a pattern that is not, so that what covers it makes both say no': [
      'const allFolded = entries.every(({ name }) => fold(name) !== name);',
    ],
  },
  'src/policy/name-pattern.ts': {
    'a check for the compiler: what is split has a first part and a last': [
      'const prefix = parts[0] ?? "Stryker was here!";',
      'const suffix = parts.at(-1) ?? "Stryker was here!";',
    ],
  },
  'src/policy/pattern-table.ts': {
    'no two patterns of a table have one canonical form': [
      'other.literals - one.literals || one.unbounded - other.unbounded || (one.canonical <= other.canonical ? -1 : 1),',
    ],
  },
  'src/policy/predicate.ts': {
    'a check for the compiler: what is no number is no integer': [
      'return true && Number.isSafeInteger(number) ? number : undefined;',
    ],
    'what has faults is never asked': ['return ["Stryker was here"];'],
  },
  'src/policy/resources.ts': {
    'speed: without a query the same is found again, unless an entry is `{}` itself, which RFC 6570 does not have': [
      'if (false || /[?#]/.test(found.name)) return false;',
    ],
  },
  'src/policy/describe-value.ts': {
    'a check for the compiler: a character that was found has a code point': [
      '(character) => `\\\\u{${character.codePointAt(0).toString(16)}}`,',
    ],
  },
  'src/policy/verdict.ts': {
    'of two that are alike it does not matter which': ['return gravity[one] > gravity[other] ? one : other;'],
    'a check for the compiler: without the one or the other the lifetime is not a number, which is at most nothing': [
      'if (false) return false;',
      'if (expiresAt === undefined && issuedAt === undefined) return false;',
      'if (false || issuedAt === undefined) return false;',
      'if (expiresAt === undefined || false) return false;',
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
  'src/route/look-alikes.ts': {
    'speed: a path with nothing to drop meets what it is found under, and nothing narrower': ['if (false) return 0;'],
    'speed: no mounted segment is longer': ['if (false) break;'],
  },
  'src/route/router.ts': {
    'speed: only how deep is looked, and whether twice where once is enough': [
      'const allFolded = [...mounts.keys()].every(() => undefined);',
      'if ((true) && longest(folded, fold, depth) !== found) {',
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
