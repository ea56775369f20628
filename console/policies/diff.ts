/** The lines around a change that a diff shows. */
const CONTEXT = 3;

interface Edit {
  readonly sign: ' ' | '-' | '+';
  readonly line: string;
}

/** The unified diff of two texts of one file; empty if they are equal. */
export function unifiedDiff(file: string, before: string, after: string): string {
  if (before === after) return '';
  const edits = editsOf(before.split('\n'), after.split('\n'));
  const shown = edits.map((_, index) =>
    edits.slice(Math.max(index - CONTEXT, 0), index + CONTEXT + 1).some(({ sign }) => sign !== ' '),
  );
  const hunks: string[] = [];
  let [oldLine, newLine] = [1, 1];
  for (let index = 0; index < edits.length; index += 1) {
    if (shown[index] === true && shown[index - 1] !== true) {
      const end = shown.indexOf(false, index);
      const hunk = edits.slice(index, end === -1 ? undefined : end);
      const [removed, added] = [
        hunk.filter(({ sign }) => sign !== '+').length,
        hunk.filter(({ sign }) => sign !== '-').length,
      ];
      hunks.push(`@@ -${oldLine},${removed} +${newLine},${added} @@`, ...hunk.map(({ sign, line }) => sign + line));
    }
    if (edits[index]?.sign !== '+') oldLine += 1;
    if (edits[index]?.sign !== '-') newLine += 1;
  }
  return [`--- a/${file}`, `+++ b/${file}`, ...hunks, ''].join('\n');
}

/** The edits that turn one list of lines into another, by their longest common subsequence. */
function editsOf(before: readonly string[], after: readonly string[]): readonly Edit[] {
  const lengths = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  const at = (one: number, other: number): number => lengths[one]?.[other] ?? 0;
  for (let one = before.length - 1; one >= 0; one -= 1) {
    for (let other = after.length - 1; other >= 0; other -= 1) {
      const isSame = before[one] === after[other];
      const row = lengths[one] as Uint16Array;
      row[other] = isSame ? at(one + 1, other + 1) + 1 : Math.max(at(one + 1, other), at(one, other + 1));
    }
  }
  const edits: Edit[] = [];
  let [one, other] = [0, 0];
  while (one < before.length || other < after.length) {
    const [old, next] = [before[one], after[other]];
    if (old !== undefined && old === next) {
      edits.push({ sign: ' ', line: old });
      one += 1;
      other += 1;
    } else if (next === undefined || (old !== undefined && at(one + 1, other) >= at(one, other + 1))) {
      edits.push({ sign: '-', line: old ?? '' });
      one += 1;
    } else {
      edits.push({ sign: '+', line: next });
      other += 1;
    }
  }
  return edits;
}
