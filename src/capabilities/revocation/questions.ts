/**
 * What the admin listener asks of processes about revocation. One process is asked: all know the same.
 *
 * @module
 */

import { type Answered, noAnswer, type OperatorAnswer, Question } from '../admin.ts';
import type { OperatorRevocations, RevocationState, RevokeCommand, SourceState } from '../../ports/revocation.ts';

/** A part of the list of revocations, a JSON line each. */
interface RevocationList extends OperatorAnswer {
  /** Where the next part begins; undefined: this is the last one. */
  readonly next?: number | undefined;
}

/** How long one process has to revoke: longer than the store may take. */
const ONE_MS = 5_000;

const noRevocation: OperatorAnswer = {
  status: 404,
  body: 'The gateway has no `revocation`: add `revocation: {}` to gateway.yaml, and restart it.',
};

/** A part of what is kept, from a place on. */
export const keptRevocations = new Question<number, RevocationList>('revocations', {
  oneWithinMs: ONE_MS,
  join: ([list]) => list ?? noAnswer,
});

export const revoke = new Question<RevokeCommand, OperatorAnswer>('revoke', {
  oneWithinMs: ONE_MS,
  join: ([answer]) => answer ?? noAnswer,
});

/** Withdraws the revocation of an id. */
export const lift = new Question<string, OperatorAnswer>('lift', {
  oneWithinMs: ONE_MS,
  join: ([answer]) => answer ?? noAnswer,
});

/** How a process answers. @param revocations Undefined without `revocation`. */
export function revocationAnswers(revocations: OperatorRevocations | undefined): readonly Answered[] {
  return [
    keptRevocations.by((from) => {
      if (revocations === undefined) return noRevocation;
      const { lines, next } = revocations.page(from);
      return { status: 200, body: lines, next };
    }),
    revoke.by(async (command) => {
      if (revocations === undefined) return noRevocation;
      const until = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
      const revoked = await revocations.revoke(command);
      if (typeof revoked === 'string') return { status: 422, body: `Not revoked: ${revoked}.` };
      return { status: 200, body: JSON.stringify({ status: 'revoked', until, revocations: revoked }) };
    }),
    lift.by(async (id) => {
      if (revocations === undefined) return noRevocation;
      const problem = await revocations.lift(id);
      if (problem !== undefined) return { status: 422, body: `Not lifted: ${problem}.` };
      return { status: 200, body: JSON.stringify({ status: 'lifted' }) };
    }),
  ];
}

/** Every process takes pushed events; one of them manages a stream, or polls. */
export function joinedRevocation(states: readonly RevocationState[]): RevocationState | undefined {
  const [first] = states;
  if (first === undefined) return undefined;
  const byName = Map.groupBy(
    states.flatMap(({ sources }) => sources),
    ({ name }) => name,
  );
  return {
    kept: Math.max(...states.map(({ kept }) => kept)),
    most: first.most,
    sources: Array.from(byName, ([name, ofSource]): SourceState => {
      const down = ofSource.find(({ up }) => up === false);
      return {
        name,
        up: down === undefined ? ofSource.find(({ up }) => up === true)?.up : false,
        problem: down?.problem,
        lastEventAt: newest(ofSource.map(({ lastEventAt }) => lastEventAt)),
      };
    }),
  };
}

function newest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
