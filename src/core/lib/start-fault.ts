/** Why a process cannot start, in one line for the operator. */
export class StartFault extends Error {
  override readonly name: string = 'StartFault';
}
