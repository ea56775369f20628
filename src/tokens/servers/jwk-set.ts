import { isObject } from '../../core/lib/json/own-member.ts';

/** A JWK Set as another party published it, RFC 7517 §5. */
interface PublishedKeys {
  /** The keys that may verify signatures. Their members are those of the other party, and may be anything. */
  readonly keys: readonly Jwk[];
  /** The keys that prove nothing, since others than their owner can sign for them. */
  readonly flawed: readonly FlawedKey[];
}

/** A key that is not used. */
export interface FlawedKey {
  readonly kid: unknown;
  /** In words that follow the name of the key: `has only 1024 bits, 2048 are required`. */
  readonly flaw: string;
}

type Jwk = Readonly<Record<string, unknown>>;

/**
 * Reads a JWK Set. A member of `keys` that is no key, and a key with a flaw, cost only themselves.
 *
 * @returns undefined if `body` is no JWK Set, or has nothing but members that are no keys.
 */
export function readJwkSet(body: unknown): PublishedKeys | undefined {
  const list = isObject(body) ? body['keys'] : undefined;
  if (!Array.isArray(list)) return undefined;
  const objects = list.filter(isObject);
  if (objects.length === 0 && list.length > 0) return undefined;
  const judged = objects.map((key) => ({ key, flaw: keyFlaw(key) }));
  return {
    keys: judged.filter(({ flaw }) => flaw === undefined).map(({ key }) => key),
    flawed: judged.flatMap(({ key, flaw }) => (flaw === undefined ? [] : [{ kid: key['kid'], flaw }])),
  };
}

/**
 * The flaw of a public key by which others than its owner can sign; undefined: none is known. A malformed key has none:
 * no signature can be verified with it.
 */
export function keyFlaw({ kty, n, e, d }: Jwk): string | undefined {
  if (d !== undefined && d !== null) return 'is published with its private part';
  if (kty !== 'RSA' || typeof n !== 'string' || typeof e !== 'string') return undefined;
  if (Math.max(n.length, e.length) > MAX_RSA_LENGTH) return `has more than ${MAX_RSA_BITS} bits`;
  return rsaFlaw(integerIn(n), integerIn(e));
}

function integerIn(text: string): bigint {
  return BigInt(`0x0${Buffer.from(text, 'base64url').toString('hex')}`);
}

/** RFC 7518 §3.3 and §3.5. */
const MIN_RSA_BITS = 2048;
/** OpenSSL verifies with no larger one. */
const MAX_RSA_BITS = 16_384;
/** In base64url. */
const MAX_RSA_LENGTH = Math.ceil(MAX_RSA_BITS / 6);

function rsaFlaw(modulus: bigint, exponent: bigint): string | undefined {
  const bits = modulus.toString(2).length;
  if (bits < MIN_RSA_BITS) return `has only ${bits} bits, ${MIN_RSA_BITS} are required`;
  // With exponent 1 a signature is its own message. FIPS 186-5 §5.4: odd, and more than 2^16; 3 is still in use.
  if (exponent < 3n || exponent % 2n === 0n) {
    const shown = exponent < 1_000_000n ? exponent : 'of an even number';
    return `has the exponent ${shown}, an odd one of at least 3 is required`;
  }
  const residue = modulus % productOfPrimes;
  const residues = smallPrimes.map(({ divisor }) => Number(residue % divisor));
  if (modulus % 2n === 0n || residues.includes(0)) return 'has a modulus with a small factor';
  const isRoca = smallPrimes.every(({ powers }, index) => powers.has(residues[index] ?? 0));
  return isRoca ? 'has a modulus that can be factored (ROCA, CVE-2017-15361)' : undefined;
}

/**
 * The odd primes up to 167, each with the powers of 65537 modulo it. The primes of a flawed library for smart cards
 * were powers of 65537 modulo each of these, and so are their products: Nemec et al., "The Return of Coppersmith's
 * Attack", §2.3. Of other moduli one in 2^27 is.
 */
const smallPrimes = Array.from({ length: 166 }, (_, index) => index + 2)
  .filter((number, _, all) => number > 2 && all.every((each) => each >= number || number % each !== 0))
  .map((prime) => ({ divisor: BigInt(prime), powers: powersOf(65_537 % prime, prime) }));
/** One division of the modulus serves for all. */
const productOfPrimes = smallPrimes.reduce((product, { divisor }) => product * divisor, 1n);

function powersOf(base: number, modulus: number): ReadonlySet<number> {
  const powers = new Set<number>();
  for (let power = 1; !powers.has(power); power = (power * base) % modulus) powers.add(power);
  return powers;
}
