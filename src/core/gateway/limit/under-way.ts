import { OwnerCounts } from '../../lib/fair-share.ts';
import { addressBlock } from '../../lib/ip-address.ts';
import { lengthPrefixed } from '../../lib/digest.ts';
import type { Call } from '../../model/call.ts';
import { Denial } from '../../model/denial.ts';
import type { Principal } from '../../model/principal.ts';

const RETRY_SECONDS = 1;

/**
 * The calls that a process serves at this time, by caller: streams that stay open, bodies that come slowly, answers
 * that a client does not read. A caller is a subject, else a client, else an address.
 */
export class UnderWay {
  readonly #calls = new OwnerCounts();

  /**
   * Counts a call.
   *
   * @param most The most calls of one caller.
   * @returns its caller, for {@link leave}.
   * @throws {Denial} `calls.no_room`
   */
  enter({ client }: Call, principal: Principal | undefined, most: number): string {
    const owner = principal?.callerKey ?? lengthPrefixed(['address', addressBlock(client)]);
    if (this.#calls.of(owner) >= most)
      throw new Denial('calls.no_room', `${most} calls of this caller are under way`, {
        retryAfterSeconds: RETRY_SECONDS,
      });
    this.#calls.add(owner, 1);
    return owner;
  }

  /** A call has ended. */
  readonly leave = (owner: string): void => this.#calls.add(owner, -1);
}
