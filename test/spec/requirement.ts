/** Who must see to a requirement. `nobody`: it describes the document, or leaves something open. */
type Party = 'gateway' | 'authorization server' | 'client' | 'upstream' | 'nobody';

/** One sentence or row that binds somebody. */
export interface Requirement {
  /** Stands before the dash in the title of each test that shows it. */
  readonly id: string;
  /** As the source has it; the cells of a row with ` | ` between them. */
  readonly text: string;
  readonly by: Party;
  /** For all but the gateway: the file of the demo or of its tests that shows it, and words that stand there. */
  readonly shown?: readonly [file: string, words: string];
}
