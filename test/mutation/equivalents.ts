/** Names one mutant: by what it changes, not by where it is, so that a function may move to another file. */
export interface MutantName {
  /** The nearest function with a name, or the constant of the module; `outer.inner` where others have the name too. */
  readonly in: string;
  /** As Stryker calls it. */
  readonly mutator: string;
  /** What stands in the place of the code, where the function has several mutants of the mutator. */
  readonly to?: string;
  /** Which of them in the order of the source, from 1 on, where several have the same replacement. */
  readonly nth?: number;
}

/** Mutants that no test can notice, by the reason. */
export const equivalents: Readonly<Record<string, readonly MutantName[]>> = {
  'speed: a path with nothing to drop meets what it is found under, and nothing narrower': [
    { in: 'createLookAlikes', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'speed: no mounted segment is longer': [{ in: 'childrenOf', mutator: 'ConditionalExpression', to: 'false', nth: 2 }],
  'speed: only how deep is looked, and whether twice where once is enough': [
    { in: 'createRouter', mutator: 'ArrowFunction', to: '() => undefined', nth: 3 },
    { in: 'createRouter', mutator: 'ConditionalExpression', to: 'true', nth: 2 },
    { in: 'endOfSegment', mutator: 'EqualityOperator', to: 'segment <= count' },
    { in: 'endOfSegment', mutator: 'AssignmentOperator' },
    { in: 'endOfSegment', mutator: 'ConditionalExpression', to: 'true' },
  ],
  'speed: what is skipped would change nothing and refuse nothing': [
    { in: 'canonicalTarget', mutator: 'ConditionalExpression', to: 'true', nth: 7 },
    { in: 'canonicalTarget', mutator: 'StringLiteral', to: '""', nth: 9 },
    { in: 'foldedPath', mutator: 'ConditionalExpression', to: 'false' },
    { in: 'foldedPath', mutator: 'StringLiteral' },
    { in: 'requirePlain', mutator: 'StringLiteral', to: '""', nth: 4 },
  ],
  'a check for the compiler: no pattern of ours matches the text that undefined becomes': [
    { in: 'messageAction', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'a check for the compiler: undefined, as a text, is no scheme': [
    { in: 'createChallenges', mutator: 'ConditionalExpression', to: 'true', nth: 3 },
  ],
  'a check for the compiler: undefined is no allowed origin': [
    { in: 'headers', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'a text with spaces is no name of a field': [
    { in: 'allowedHeaders', mutator: 'StringLiteral', to: '"Stryker was here!"' },
  ],
  'a check for the compiler: only routes with a resource come so far': [
    { in: 'metadata', mutator: 'OptionalChaining', to: 'resource.name' },
    { in: 'metadata', mutator: 'OptionalChaining', to: 'resource.scopesSupported' },
    { in: 'metadata', mutator: 'OptionalChaining', to: 'resource.documentation' },
    { in: 'metadata', mutator: 'OptionalChaining', to: 'resource.policyUri' },
    { in: 'metadata', mutator: 'OptionalChaining', to: 'resource.tosUri' },
  ],
  'a check for the compiler: what is no denial was granted': [
    { in: 'record', mutator: 'OptionalChaining', to: 'grant.decision', nth: 1 },
  ],
  'speed: with all numbers looked at the same comes out': [
    { in: 'parseToRewrite', mutator: 'ConditionalExpression', to: 'false' },
    { in: 'mayChangeNumbers', mutator: 'ConditionalExpression', to: 'true' },
    { in: 'mayChangeNumbers', mutator: 'BooleanLiteral', to: 'true' },
  ],
  'a check for the compiler: without a version both would have been legacy': [
    { in: 'requireAgreement', mutator: 'StringLiteral', to: '"Stryker was here!"', nth: 1 },
  ],
  'no method is called so': [
    { in: 'requireAgreement', mutator: 'StringLiteral', to: '"Stryker was here!"', nth: 2 },
    { in: 'repeatedName', mutator: 'StringLiteral', to: '"Stryker was here!"' },
    { in: 'parties', mutator: 'StringLiteral', to: '"Stryker was here!"' },
  ],
  'Object.prototype has none of the three names': [
    { in: 'repeatedName', mutator: 'ConditionalExpression', to: 'true', nth: 1 },
    { in: 'repeatedName', mutator: 'LogicalOperator' },
    { in: 'repeatedName', mutator: 'ConditionalExpression', to: 'true', nth: 2 },
  ],
  'nothing of it ends a line, and only line ends are looked for in it': [
    { in: 'createEventSplitter', mutator: 'StringLiteral' },
    { in: 'release', mutator: 'StringLiteral' },
  ],
  'speed: one part joined is itself': [{ in: 'take', mutator: 'ConditionalExpression', to: 'false' }],
  'a function without `return` gives undefined too': [
    { in: 'decodedValue', mutator: 'BlockStatement', to: '{}', nth: 3 },
    { in: 'parsed', mutator: 'BlockStatement', to: '{}', nth: 3 },
    { in: 'safely', mutator: 'BlockStatement', to: '{}', nth: 3 },
    { in: 'claimedIssuer', mutator: 'BlockStatement', to: '{}', nth: 3 },
  ],
  'speed: without changes the text is as it was': [
    { in: 'unbindAll', mutator: 'ConditionalExpression', to: 'false', nth: 5 },
  ],
  'what was not parsed is undefined, which has no handles': [
    { in: 'given', mutator: 'BlockStatement', to: '{}', nth: 3 },
  ],
  'a check for the compiler: no path is empty': [{ in: 'add', mutator: 'StringLiteral', to: '"Stryker was here!"' }],
  'the places that are shown have no other path of which this would be true': [
    { in: 'isNamedTask', mutator: 'ConditionalExpression', to: 'true', nth: 2 },
  ],
  'what has no value is no handle, and has nothing below it': [
    { in: 'givenAt', mutator: 'ArrayDeclaration', to: '["Stryker was here"]', nth: 2 },
    { in: 'givenAt', mutator: 'ArrayDeclaration', to: '["Stryker was here"]', nth: 3 },
  ],
  'a check for the compiler: undefined names no method that is about anything': [
    { in: 'readMessage', mutator: 'ConditionalExpression', to: 'false', nth: 5 },
  ],
  'only a bug in the scanner would throw anything else': [
    { in: 'parse', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
  ],
  'nobody finds a text that is the MAC of most of itself': [
    { in: 'createOwnerBound.unbind', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
  ],
  'a check for the compiler: undefined as a text is no decimal': [
    { in: 'sameNumber', mutator: 'ConditionalExpression', to: 'true', nth: 4 },
  ],
  'a check for the compiler: only numbers are finite': [
    { in: 'textOf', mutator: 'ConditionalExpression', to: 'false', nth: 4 },
    { in: 'date', mutator: 'ConditionalExpression', to: 'true', nth: 3 },
  ],
  'a check for the compiler: no text, number or boolean has members of these names': [
    { in: 'declaresTasks', mutator: 'ConditionalExpression', to: 'false', nth: 3 },
  ],
  'what has no name and no schema declares nothing': [
    { in: 'toolsIn', mutator: 'ArrayDeclaration', to: '["Stryker was here"]', nth: 1 },
    { in: 'toolsIn', mutator: 'ArrayDeclaration', to: '["Stryker was here"]', nth: 2 },
  ],
  'a check for the compiler: undefined is no method that acts on anything': [
    { in: 'entriesFor', mutator: 'ConditionalExpression', to: 'false', nth: 3 },
  ],
  'what throws cannot be called either': [
    { in: 'couldCall', mutator: 'OptionalChaining', to: 'listing[kind](name)' },
    { in: 'couldCall', mutator: 'ConditionalExpression', to: 'false', nth: 4 },
  ],
  'a check for the compiler: one of several gave them the verdict that they have together': [
    { in: 'withVerdict', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
    { in: 'withVerdict', mutator: 'CallExpression' },
  ],
  'a check for the compiler: one of the predicates of a refused claim fails': [
    { in: 'claimDetail', mutator: 'OptionalChaining' },
  ],
  'a check for the compiler: a character that was found has a code point': [
    { in: 'quoted', mutator: 'OptionalChaining' },
  ],
  'nobody looks at these faults': [{ in: 'mistakableNames', mutator: 'ArrayDeclaration', to: '["Stryker was here"]' }],
  'speed: where all is folded, the second table finds what the first one found': [
    { in: 'mistakableNames', mutator: 'ArrowFunction', to: '() => undefined', nth: 3 },
    { in: 'mistakableNames', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
    { in: 'mistakableNames', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'no folded name is covered by a pattern that is not, so that what covers it makes both say no': [
    { in: 'mistakableNames', mutator: 'EqualityOperator', to: 'fold(name) !== name' },
  ],
  'a check for the compiler: what is split has a first part and a last': [
    { in: 'namePattern', mutator: 'StringLiteral', to: '"Stryker was here!"', nth: 1 },
    { in: 'namePattern', mutator: 'StringLiteral', to: '"Stryker was here!"', nth: 2 },
  ],
  'no two patterns of a table have one canonical form': [
    { in: 'patternTable', mutator: 'EqualityOperator', to: 'one.canonical <= other.canonical' },
  ],
  'a check for the compiler: what is no number is no integer': [
    { in: 'parseInteger', mutator: 'ConditionalExpression', to: 'true', nth: 4 },
  ],
  'what has faults is never asked': [{ in: 'matches', mutator: 'ArrayDeclaration', to: '["Stryker was here"]' }],
  'speed: without a query the same is found again, unless an entry is `{}` itself, which RFC 6570 does not have': [
    { in: 'dropsIntoAnother', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'of two that are alike it does not matter which': [
    { in: 'graver', mutator: 'EqualityOperator', to: 'gravity[one] > gravity[other]' },
  ],
  'a check for the compiler: without the one or the other the lifetime is not a number, which is at most nothing': [
    { in: 'livesAtMost', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
    { in: 'livesAtMost', mutator: 'LogicalOperator', to: 'expiresAt === undefined && issuedAt === undefined' },
    { in: 'livesAtMost', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
    { in: 'livesAtMost', mutator: 'ConditionalExpression', to: 'false', nth: 3 },
  ],
  'JSON leaves out what is undefined': [{ in: 'assertion', mutator: 'ConditionalExpression', to: 'true', nth: 2 }],
  'no opaque token has a space': [
    { in: 'createAuthenticators', mutator: 'ArrayDeclaration', to: '["Stryker was here"]' },
  ],
  'speed: only what could be the parameter is parsed': [
    { in: 'hasTokenInQuery', mutator: 'ConditionalExpression', to: 'false' },
    { in: 'hasTokenInQuery', mutator: 'StringLiteral', to: '""', nth: 1 },
    { in: 'hasTokenInQuery', mutator: 'StringLiteral', to: '""', nth: 2 },
  ],
  'a check for the compiler: only names are accepted, and only numbers are finite': [
    { in: 'readProof', mutator: 'ConditionalExpression', to: 'false', nth: 6 },
    { in: 'readProof', mutator: 'ConditionalExpression', to: 'false', nth: 15 },
  ],
  'nothing is read of it before the first attempt': [
    { in: 'createKeySource', mutator: 'UnaryOperator', to: '+Infinity', nth: 2 },
  ],
  'nobody has them renewed so soon, unless an attempt failed': [
    { in: 'renew', mutator: 'ConditionalExpression', to: 'true', nth: 3 },
  ],
  'a check for the compiler: where there are none, they are too old': [
    { in: 'current', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'any order serves, and no two members have one name': [
    { in: 'spelled', mutator: 'EqualityOperator', to: 'one <= other' },
    { in: 'spelled', mutator: 'EqualityOperator', to: 'one >= other' },
  ],
  'speed: of one window the same comes out': [{ in: 'now', mutator: 'ConditionalExpression', to: 'false' }],
  'said twice: the same header was read before, and its algorithm is an accepted one': [
    { in: 'verifySignature', mutator: 'ObjectLiteral', to: '{}', nth: 1 },
  ],
  'only a bug in jose would throw anything else': [
    { in: 'verifySignature', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'a check for the compiler: no kind of key that is read is symmetric': [
    { in: 'importKey', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
  ],
  'no two members have one name': [{ in: 'thumbprintOf', mutator: 'EqualityOperator', to: 'one <= other' }],
  'both of what is compared are made alike': [
    { in: 'plainOctet', mutator: 'MethodExpression', to: 'octet.toLowerCase()' },
  ],
  'only a bug would throw anything else': [
    { in: 'reread', mutator: 'BlockStatement', to: '{}', nth: 3 },
    { in: 'reread', mutator: 'ConditionalExpression', to: 'true', nth: 4 },
  ],
  'a check for the compiler: what is no object has no claims': [
    { in: 'isAnswer', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'speed: the same hash comes out again': [
    { in: 'tokenKey', mutator: 'ConditionalExpression', to: 'false' },
    { in: 'tokenKey', mutator: 'CallExpression' },
  ],
};
