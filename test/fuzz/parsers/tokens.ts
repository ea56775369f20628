import { principalOfAnswer } from '../../../src/pipeline/authenticate/introspection-answer.ts';
import { readProof } from '../../../src/pipeline/authenticate/dpop-proof.ts';
import { createIsTarget } from '../../../src/pipeline/authenticate/proof-check.ts';
import type { AuthorizationServer } from '../../../src/model/authorization-server.ts';
import { changedJson } from '../mutate/json.ts';
import { must, readOrReason } from './must.ts';
import type { Reader } from '../reader.ts';

const server = {
  name: 'main',
  issuer: 'https://as.example',
  clockToleranceMs: 5000,
  introspection: { audience: 'required' },
} as unknown as AuthorizationServer;
const isTarget = createIsTarget('https://api.example');
const algorithms = new Set(['ES256', 'EdDSA']);
const now = 1_800_000_000_000;

/** A JOSE header and claims, one line each: both as a DPoP proof, and the claims as an introspection answer. */
function check(input: Buffer): void {
  const [header = '', claims = ''] = input.toString().split('\n');
  const encoded = [header, claims, 'signature'].map((part) => Buffer.from(part).toString('base64url'));
  const proof = readOrReason(() => readProof(encoded.join('.'), algorithms));
  if ('value' in proof) {
    const { algorithm, key, target, issuedAtMs } = proof.value;
    must(algorithms.has(algorithm), 'an algorithm that is not accepted');
    must(!Object.hasOwn(key, 'd') && key['kty'] !== 'oct', 'a private key');
    must(Number.isFinite(issuedAtMs), 'no time');
    if (isTarget(target, '/mcp')) {
      const { host, pathname } = new URL(target);
      must(host === 'api.example' && decodeURIComponent(pathname) === '/mcp', `${target} is another target`);
    }
  }
  let answer: unknown;
  try {
    answer = JSON.parse(claims);
  } catch {
    return;
  }
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return;
  const read = readOrReason(() =>
    principalOfAnswer({ claims: answer as Record<string, unknown> }, server, new Map(), () => now),
  );
  if ('value' in read) {
    const { subject, issuer, expiresAt, audience } = read.value;
    must(
      issuer === server.issuer && (subject === undefined || typeof subject === 'string'),
      'another issuer or subject',
    );
    must(expiresAt === undefined || expiresAt * 1000 + 5000 > now, 'an expired answer');
    must(
      audience.every((each) => typeof each === 'string'),
      'an audience that is not a string',
    );
  }
}

export const tokens: Reader = {
  check,
  words: (
    '"typ":"dpop+jwt"|"alg":"ES256"|"alg":"none"|"jwk":{|"kty":"EC"|"crv":"P-256"|"d":"x"|"jti":"1"|' +
    '"htm":"GET"|"htu":"https://api.example/mcp"|"iat":1800000000|"exp":1800000900|"aud":"x"|' +
    '"cnf":{"jkt":"x"}|"sub":"a"|"scope":"a b"|\n'
  ).split('|'),
  mutate: (input, random) => {
    const lines = input.toString().split('\n');
    const at = random.below(lines.length);
    return Buffer.from(lines.with(at, changedJson(lines[at] as string, random)).join('\n'));
  },
};
