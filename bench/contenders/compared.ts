import type { Bench } from '../bench.ts';
import type { Contender } from '../contender.ts';
import { createSallyport } from './sallyport.ts';

/** This checkout's gateway, those of `--against`, and the other contenders, limited to those of `--only`. */
export function compared({ against, only }: Bench, others: readonly Contender[]): readonly Contender[] {
  const checkouts = against.map((root) => createSallyport({ name: `sallyport@${root}`, root }));
  return [createSallyport(), ...checkouts, ...others.filter(({ name }) => only?.includes(name) ?? true)];
}
