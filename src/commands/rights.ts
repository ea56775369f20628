import { besidePolicies } from '../capabilities/all.ts';
import { type CallerRights, type Rights, type RightsOwner, RightsReader } from '../analysis/review/rights.ts';
import { counted, printable } from '../core/lib/wording.ts';
import { isAccepted, policiesIn } from '../policy-files/policies.ts';
import { loadWithoutSecrets } from '../serve/config/load.ts';
import {
  type ExitCode,
  Failure,
  jsonText,
  print,
  reportProblems,
  unreadable,
  UsageError,
} from '../capabilities/terminal.ts';
import { eachLine, objectIn } from './decision-log.ts';
import { routeNamed } from './explain.ts';
import type { OptionsOf } from './options.ts';

/**
 * `sallyport rights`: for each caller of a log the entries of policies that it used, could use and never did, and was
 * refused; at the end those that no caller used.
 */
export async function rights(files: readonly string[], options: OptionsOf<'rights'>): Promise<ExitCode> {
  const owner = ownerIn(options.by);
  const { config } = await loadWithoutSecrets(options.config);
  const routes = options.route === undefined ? config.routes : [routeNamed(config, options.route)];
  let earlier;
  try {
    earlier = options.policies === undefined ? undefined : await policiesIn(options.policies, besidePolicies);
  } catch (error) {
    return reportProblems(options.config, error);
  }
  const reader = new RightsReader({ routes, hierarchy: config.scopeHierarchy, owner, earlier });
  for (const file of files) await readInto(reader, file);
  if (reader.decisions === 0)
    throw new Failure(`${files.join(', ')}: no decision of ${routes.map(({ name }) => name).join(', ')}`);
  if (config.log.decisions === 'denials')
    process.stderr.write('warning: log.decisions is denials: allowed calls are not in the log, and look unused\n');
  const found = reader.rights();
  return print(options.json ? jsonText(found, 2) : report(found, reader.decisions, earlier !== undefined));
}

function ownerIn(by = 'subject'): RightsOwner {
  if (by === 'subject' || by === 'client') return by;
  const [, claim] = /^claim:(.+)$/.exec(by) ?? [];
  if (claim !== undefined && isAccepted({ claims: { [claim]: true } })) return { claim };
  throw new UsageError(`--by: ${JSON.stringify(by)} is not subject, client or claim:NAME`);
}

async function readInto(reader: RightsReader, file: string): Promise<void> {
  try {
    await eachLine(file, (line) => {
      const entry = line?.includes('"decision"') === true ? objectIn(line) : undefined;
      if (entry !== undefined) reader.take(entry);
    });
  } catch (error) {
    throw unreadable(file, error);
  }
}

function report({ callers, unused }: Rights, decisions: number, isCompared: boolean): string {
  const blocks = callers.map((caller) => blockOf(caller, isCompared));
  const last = unused.length === 0 ? 'used by no caller: no entry' : `used by no caller:\n${list(unused)}`;
  const head = `${counted(decisions, 'decision')} of ${counted(callers.length, 'caller')}`;
  return [head, ...blocks, last].map((block) => `${block}\n`).join('\n');
}

function blockOf(
  { caller, issuer, used, could, refused, unknown, lost, gained }: CallerRights,
  isCompared: boolean,
): string {
  const width = Math.max(0, ...used.map(({ entry }) => printable(entry).length));
  const uses = used.map(
    ({ entry, count, last }) => `  used     ${printable(entry).padEnd(width)}  ${String(count).padStart(7)}  ${last}`,
  );
  const rows = (word: string, entries: readonly string[], note = ''): readonly string[] =>
    entries.map((entry) => `  ${word.padEnd(8)} ${printable(entry)}${note}`);
  return [
    `${printable(caller)}   ${printable(issuer)}`,
    ...uses,
    ...rows('could', could),
    ...rows('refused', refused),
    ...rows('unknown', unknown, '   (depends on a claim that is not in the log)'),
    ...(isCompared ? [...rows('lost', lost), ...rows('gained', gained)] : []),
  ].join('\n');
}

function list(entries: readonly string[]): string {
  return entries.map((entry) => `  ${printable(entry)}`).join('\n');
}
