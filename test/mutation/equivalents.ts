import { readFileSync } from 'node:fs';

/** Names one mutant by its function and its change. The function may move to another file. */
export interface MutantName {
  /** The nearest named function, or the constant of the module. `outer.inner` if several functions have the name. */
  readonly in: string;
  /** Stryker's name for the kind of change. */
  readonly mutator: string;
  /** The position in source order, from 1, among those with the same replacement. Needed if there are several. */
  readonly nth: number | undefined;
  /** The replacement. Needed if the function has several mutants of the mutator. */
  readonly to: string | undefined;
}

/**
 * Mutants that no test can notice. In the file a reason is a line, and below it each mutant is one: the function, the
 * mutator, perhaps a number, and perhaps the replacement after a colon. `speed`: the code only saves time. `type`: the
 * check only narrows a type for the compiler.
 */
export const equivalents: Readonly<Record<string, readonly MutantName[]>> = {
  'speed: a path without droppable parts matches its own mount and no narrower one': [
    { in: 'createLookAlikes', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
    { in: 'droppable', mutator: 'Regex', to: '/[.+?#]|[!-~]/' },
    { in: 'droppable', mutator: 'Regex', to: '/[^.+?#]|[^!-~]/' },
  ],
  'speed: no mounted segment is longer': [{ in: 'childrenOf', mutator: 'ConditionalExpression', to: 'false', nth: 2 }],
  'speed: the search goes deeper than needed, or runs twice': [
    { in: 'createRouter', mutator: 'ArrowFunction', to: '() => undefined', nth: 3 },
    { in: 'createRouter', mutator: 'ConditionalExpression', to: 'true', nth: 2 },
    { in: 'endOfSegment', mutator: 'EqualityOperator', to: 'segment <= count' },
    { in: 'endOfSegment', mutator: 'AssignmentOperator' },
    { in: 'endOfSegment', mutator: 'ConditionalExpression', to: 'true' },
  ],
  'speed: the skipped step changes nothing and refuses nothing': [
    { in: 'foldedPath', mutator: 'ConditionalExpression', to: 'false' },
    { in: 'foldedPath', mutator: 'StringLiteral' },
    { in: 'pathFlaw', mutator: 'StringLiteral', to: '""', nth: 2 },
    { in: 'segmentFlaw', mutator: 'StringLiteral', to: '""', nth: 3 },
  ],
  'a caller that only asks whether it is true takes undefined as false': [
    { in: 'accept', mutator: 'BlockStatement', nth: 3 },
  ],
  'type: no pattern matches the text "undefined"': [
    { in: 'messageAction', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'type: no tool has undefined for its name': [
    { in: 'messageAction', mutator: 'ConditionalExpression', to: 'true', nth: 7 },
  ],
  'no two definitions that are compared have the same key': [
    { in: 'differences', mutator: 'EqualityOperator', to: 'definitionKey(one) <= definitionKey(other)' },
  ],
  'neither text begins with a scheme': [
    { in: 'createChallenges', mutator: 'StringLiteral', to: '"Stryker was here!"' },
  ],
  'type: undefined is not an allowed origin': [
    { in: 'headers', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'a text with spaces is not a field name': [
    { in: 'allowedHeaders', mutator: 'StringLiteral', to: '"Stryker was here!"' },
  ],
  'type: only routes with a resource reach this code': [
    { in: 'metadata', mutator: 'OptionalChaining', to: 'resource.name' },
    { in: 'metadata', mutator: 'OptionalChaining', to: 'resource.scopesSupported' },
    { in: 'metadata', mutator: 'OptionalChaining', to: 'resource.documentation' },
    { in: 'metadata', mutator: 'OptionalChaining', to: 'resource.policyUri' },
    { in: 'metadata', mutator: 'OptionalChaining', to: 'resource.tosUri' },
  ],
  'type: a call without a denial has a grant': [
    { in: 'record', mutator: 'OptionalChaining', to: '(shadow ?? grant?.decision).rule' },
    { in: 'record', mutator: 'OptionalChaining', to: 'grant.decision', nth: 2 },
  ],
  'speed: the result is the same if every number is examined': [
    { in: 'parseToRewrite', mutator: 'ConditionalExpression', to: 'false' },
    { in: 'mayChangeNumbers', mutator: 'ConditionalExpression', to: 'true' },
    { in: 'mayChangeNumbers', mutator: 'BooleanLiteral', to: 'true' },
  ],
  'type: two messages without a version are both legacy': [
    { in: 'requireAgreement', mutator: 'StringLiteral', to: '"Stryker was here!"', nth: 1 },
  ],
  'no method has this name': [
    { in: 'requireAgreement', mutator: 'StringLiteral', to: '"Stryker was here!"', nth: 2 },
    { in: 'parties', mutator: 'StringLiteral', to: '"Stryker was here!"' },
  ],
  'the code only looks for line ends in this text, which has none': [
    { in: 'createEventSplitter', mutator: 'StringLiteral' },
    { in: 'createEventSplitter.release', mutator: 'StringLiteral' },
  ],
  'speed: a single part joined is the part itself': [{ in: 'take', mutator: 'ConditionalExpression', to: 'false' }],
  'a function without `return` also returns undefined': [
    { in: 'decodedValue', mutator: 'BlockStatement', to: '{}', nth: 3 },
    { in: 'safely', mutator: 'BlockStatement', to: '{}', nth: 3 },
    { in: 'countInShadow', mutator: 'BlockStatement', to: '{}', nth: 3 },
    { in: 'recordedValues', mutator: 'BlockStatement', to: '{}', nth: 3 },
  ],
  'speed: the text without changes is the same text': [
    { in: 'unbindAll', mutator: 'ConditionalExpression', to: 'false', nth: 5 },
  ],
  'MCP has one list of tasks': [{ in: 'mayListTasks', mutator: 'MethodExpression' }],
  'type: no path is empty': [{ in: 'add', mutator: 'StringLiteral', to: '"Stryker was here!"' }],
  'a text in the place of an entry is not a handle and has no members': [
    { in: 'givenAt', mutator: 'ArrayDeclaration', to: '["Stryker was here"]', nth: 2 },
    { in: 'givenAt', mutator: 'ArrayDeclaration', to: '["Stryker was here"]', nth: 3 },
  ],
  'only a bug in the scanner throws another error': [
    { in: 'parse', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
  ],
  'finding a text that ends in its own MAC is infeasible': [
    { in: 'createOwnerBound.unbind', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
  ],
  'type: the text "undefined" is not a decimal': [
    { in: 'sameNumber', mutator: 'ConditionalExpression', to: 'true', nth: 4 },
  ],
  'type: only numbers are finite': [
    { in: 'textOf', mutator: 'ConditionalExpression', to: 'false', nth: 4 },
    { in: 'date', mutator: 'ConditionalExpression', to: 'true', nth: 3 },
  ],
  'a tool without a name and a schema declares no header': [
    { in: 'toolsIn', mutator: 'ArrayDeclaration', to: '["Stryker was here"]', nth: 1 },
    { in: 'toolsIn', mutator: 'ArrayDeclaration', to: '["Stryker was here"]', nth: 2 },
  ],
  'an entry that throws cannot be called either': [
    { in: 'couldCall', mutator: 'OptionalChaining', to: 'listing[kind](name)' },
    { in: 'couldCall', mutator: 'ConditionalExpression', to: 'false', nth: 4 },
  ],
  'type: one of the conditions has the verdict of all of them together': [
    { in: 'withVerdict', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
    { in: 'withVerdict', mutator: 'CallExpression' },
  ],
  'type: a character that was found has a code point': [{ in: 'quoted', mutator: 'OptionalChaining' }],
  'no code reads these faults': [{ in: 'mistakableNames', mutator: 'ArrayDeclaration', to: '["Stryker was here"]' }],
  'speed: if all names are folded, both tables give the same result': [
    { in: 'mistakableNames', mutator: 'ArrowFunction', to: '() => undefined', nth: 3 },
    { in: 'mistakableNames', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
    { in: 'mistakableNames', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'a pattern that is not folded covers no folded name, so that both tables give the same result': [
    { in: 'mistakableNames', mutator: 'EqualityOperator', to: 'fold(name) !== name' },
  ],
  'type: a split text has a first and a last part': [
    { in: 'namePattern', mutator: 'StringLiteral', to: '"Stryker was here!"', nth: 1 },
    { in: 'namePattern', mutator: 'StringLiteral', to: '"Stryker was here!"', nth: 2 },
  ],
  'no two patterns of a table have the same canonical form': [
    { in: 'patternTable', mutator: 'EqualityOperator', to: 'one.canonical <= other.canonical' },
  ],
  'type: only a number is an integer': [{ in: 'parseInteger', mutator: 'ConditionalExpression', to: 'true', nth: 4 }],
  'speed: without a query the second search finds the same entry; RFC 6570 has no `{}`': [
    { in: 'dropsIntoAnother', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'two equal verdicts are interchangeable': [
    { in: 'graver', mutator: 'EqualityOperator', to: 'gravity[one] >= gravity[other]' },
    { in: 'graver', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
  ],
  'type: a lifetime with a missing end is NaN, and NaN <= x is false': [
    { in: 'compileLifetime.judge', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
    {
      in: 'compileLifetime.judge',
      mutator: 'LogicalOperator',
      to: 'expiresAt === undefined && issuedAt === undefined',
    },
    { in: 'compileLifetime.judge', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
    { in: 'compileLifetime.judge', mutator: 'ConditionalExpression', to: 'false', nth: 3 },
  ],
  'type: a refused claim has a predicate that fails': [
    { in: 'claimCondition.denialWords', mutator: 'OptionalChaining' },
  ],
  'speed: a plan is made again, or kept in another place': [
    { in: 'createPlans', mutator: 'ConditionalExpression', to: 'true', nth: 3 },
    { in: 'createPlans', mutator: 'ConditionalExpression', to: 'false', nth: 4 },
    { in: 'createPlans', mutator: 'EqualityOperator', to: 'entries.length >= MAX_KEPT' },
    { in: 'createPlans', mutator: 'EqualityOperator', to: 'entries.length <= MAX_KEPT' },
    { in: 'createPlans', mutator: 'StringLiteral', to: '""', nth: 3 },
    { in: 'createPlans', mutator: 'StringLiteral', to: '""', nth: 4 },
    { in: 'nodeAfter', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
    { in: 'nodeAfter', mutator: 'CallExpression' },
  ],
  'type: the first step gives a verdict, and a condition without parts always denies itself': [
    { in: 'decideOrThrow', mutator: 'StringLiteral', to: '""', nth: 1 },
    { in: 'policyDenial', mutator: 'ArrayDeclaration' },
    { in: 'refusalsBy', mutator: 'ArrayDeclaration', to: '["Stryker was here"]', nth: 3 },
  ],
  'nothing is tried after what is not listed': [{ in: 'trialsOf', mutator: 'BooleanLiteral', to: 'true', nth: 1 }],
  'speed: the verdicts of one step exclude each other, and so do those of a `not` and its part': [
    { in: 'decisionsOn', mutator: 'ConditionalExpression', to: 'false', nth: 3 },
    { in: 'mentionsIn', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
    { in: 'mentionsIn', mutator: 'StringLiteral', to: '""', nth: 1 },
  ],
  'what asks for neither every part nor none asks for the decisive one': [
    { in: 'anyOf', mutator: 'StringLiteral', to: '""', nth: 3 },
  ],
  'any text works that no compared values have, and any beginning that all of them have': [
    { in: 'incomparable', mutator: 'StringLiteral' },
    { in: 'comparedValues', mutator: 'StringLiteral', to: '"Stryker was here!"', nth: 1 },
  ],
  'type: a text is the same however exactly it is read': [
    { in: 'comparedValues', mutator: 'ConditionalExpression', to: 'true', nth: 5 },
  ],
  'JSON omits undefined members': [{ in: 'assertion', mutator: 'ConditionalExpression', to: 'true', nth: 2 }],
  'no opaque token contains a space': [
    { in: 'authenticators', mutator: 'ArrayDeclaration', to: '["Stryker was here"]' },
  ],
  'speed: the query is parsed only if it can contain the parameter': [
    { in: 'hasTokenInQuery', mutator: 'ConditionalExpression', to: 'false' },
    { in: 'hasTokenInQuery', mutator: 'StringLiteral', to: '""', nth: 1 },
    { in: 'hasTokenInQuery', mutator: 'StringLiteral', to: '""', nth: 2 },
  ],
  'type: only strings are accepted names, and only numbers are finite': [
    { in: 'readProof', mutator: 'ConditionalExpression', to: 'false', nth: 6 },
    { in: 'readProof', mutator: 'ConditionalExpression', to: 'false', nth: 15 },
  ],
  'the value is not read before the first attempt': [
    { in: 'KeySource', mutator: 'UnaryOperator', to: '+Infinity', nth: 2 },
  ],
  'no code renews the keys this early unless an attempt failed': [
    { in: '#refresh', mutator: 'ConditionalExpression', to: 'true', nth: 3 },
  ],
  'type: missing keys also count as too old': [
    { in: '#current', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'any fixed order works, and member names are unique': [
    { in: 'canonicalJson', mutator: 'EqualityOperator', to: 'one <= other' },
    { in: 'canonicalJson', mutator: 'EqualityOperator', to: 'one >= other' },
  ],
  'speed: the result is the same within one window': [{ in: '#now', mutator: 'ConditionalExpression', to: 'true' }],
  'redundant: the same header was read before, and its algorithm is accepted': [
    { in: 'verifySignature', mutator: 'ObjectLiteral', to: '{}', nth: 1 },
  ],
  'only a bug in jose throws another error': [
    { in: 'verifySignature', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'type: no key type that is read is symmetric': [
    { in: 'importKey', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
  ],
  'both sides of the comparison are normalized in the same way': [
    { in: 'plainOctet', mutator: 'MethodExpression', to: 'octet.toLowerCase()' },
  ],
  'only a bug throws another error': [
    { in: 'reread', mutator: 'BlockStatement', to: '{}', nth: 3 },
    { in: 'reread', mutator: 'ConditionalExpression', to: 'true', nth: 4 },
  ],
  'type: only an object has claims': [{ in: 'isAnswer', mutator: 'ConditionalExpression', to: 'false', nth: 2 }],
  'speed: the hash is the same when computed again': [
    { in: 'tokenKey', mutator: 'ConditionalExpression', to: 'false' },
    { in: 'tokenKey', mutator: 'CallExpression' },
  ],
  'type: the array has a member at each length': [
    { in: 'challengeIs', mutator: 'BooleanLiteral', to: 'true', nth: 2 },
    { in: 'challengeIs', mutator: 'BooleanLiteral', to: 'false', nth: 2 },
  ],
  'speed: a group that nothing changed is built again': [
    { in: 'simplifyGroup', mutator: 'BooleanLiteral', to: 'false' },
    { in: 'simplifyGroup', mutator: 'ConditionalExpression', to: 'false', nth: 3 },
    { in: 'simplifyGroup', mutator: 'ConditionalExpression', to: 'false', nth: 4 },
  ],
  'speed: the parts of a condition that refuses no caller are examined': [
    { in: 'refusalsBy', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
  ],
  'memory: what has ended stays, and decides nothing': [
    { in: 'createMemoryLedger.remove', mutator: 'CallExpression', to: ';', nth: 1 },
    { in: 'createMemoryLedger.remove', mutator: 'CallExpression', to: ';', nth: 3 },
    { in: 'createMemoryLedger.remove', mutator: 'CallExpression', to: ';', nth: 6 },
    { in: 'createMemoryLedger.remove', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
    { in: 'createMemoryLedger.remove', mutator: 'ConditionalExpression', to: 'true', nth: 2 },
    { in: 'createMemoryLedger.remove', mutator: 'ConditionalExpression', to: 'false', nth: 4 },
    { in: 'createMemoryLedger.remove', mutator: 'EqualityOperator', to: 'own >= 0' },
    { in: 'createMemoryLedger.keep', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
    { in: 'removeEntry', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'any text keeps these digests apart from those of rules': [
    { in: 'createCountUnderOwnId.inSession', mutator: 'StringLiteral', to: '""', nth: 2 },
  ],
  'speed: a body of one chunk is copied': [
    { in: 'createJsonFilter.end', mutator: 'ConditionalExpression', to: 'false', nth: 4 },
  ],
  'a message with lists becomes another object, whatever the lists show': [
    { in: 'learnt', mutator: 'EqualityOperator', to: 'targets.push(target) >= 0' },
    { in: 'learnt', mutator: 'EqualityOperator', to: 'targets.push(target) <= 0' },
  ],
  'memory: a list of one entry takes more': [{ in: 'append', mutator: 'ConditionalExpression', to: 'false' }],
  'type: no call has the id undefined, and a track that is not kept has no sum': [
    { in: 'createMemoryLedger.roundBefore', mutator: 'ConditionalExpression', to: 'false', nth: 1 },
    { in: 'createMemoryLedger.judge', mutator: 'ConditionalExpression', to: 'false', nth: 7 },
  ],
  'speed: each item is looked at, although most have ended in order': [
    { in: 'noteGone', mutator: 'CallExpression', to: ';', nth: 1 },
    { in: 'noteGone', mutator: 'ConditionalExpression', to: 'false', nth: 2 },
  ],
  'speed: the sums are made again': [{ in: 'removeEntry', mutator: 'ConditionalExpression', to: 'true', nth: 2 }],
};
