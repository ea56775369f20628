import { describeValue } from '../core/lib/json/describe-value.ts';
import { isObject, ownMember } from '../core/lib/json/own-member.ts';
import type { Actor, Claims } from '../core/model/principal.ts';
import { isName } from '../core/model/caller-key.ts';

/** The longest chain of actors. */
export const MAX_ACTORS = 8;

/**
 * The actors of a token, RFC 8693 §4.1, the current one first.
 *
 * @returns undefined without `act`, and the flaw of a chain that cannot be read as a text.
 */
export function actorsIn({ act }: Claims, issuer: string): readonly Actor[] | string | undefined {
  if (act === undefined) return undefined;
  const actors: Actor[] = [];
  let claim = 'act';
  for (let each: unknown = act; each !== undefined; each = ownMember(each, 'act'), claim += '.act') {
    if (actors.length === MAX_ACTORS) return `act names more than ${MAX_ACTORS} actors`;
    if (!isObject(each)) return flawOf(claim, each, 'an object');
    const subject = ownMember(each, 'sub');
    const actorIssuer = ownMember(each, 'iss') ?? issuer;
    if (!isName(subject)) return flawOf(`${claim}.sub`, subject, 'a string that is not empty');
    if (!isName(actorIssuer)) return flawOf(`${claim}.iss`, actorIssuer, 'a string that is not empty');
    actors.push({ issuer: actorIssuer, subject });
  }
  return actors;
}

function flawOf(claim: string, found: unknown, wanted: string): string {
  return `${claim} is ${describeValue(found)}; it must be ${wanted}`;
}

/** The flaw of described claims that a token must not have, because their actors cannot be read; undefined: none. */
export function actorFlaw(claims: Claims): string | undefined {
  const actors = actorsIn(claims, '-');
  return typeof actors === 'string' ? actors : undefined;
}
