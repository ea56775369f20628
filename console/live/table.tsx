import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import type { DecisionRow } from '../../src/capabilities/console/messages.ts';
import { followLink, go, withQuery } from '../address.ts';
import { Outcome } from '../parts/outcome.tsx';
import { Time } from '../parts/time.tsx';
import { Cells, type Columns, TableHead } from '../parts/table.tsx';

const columns: Columns<DecisionRow> = {
  time: {
    head: 'time',
    look: 'link',
    cell: ({ id, at }) => (
      <a href={withQuery({ decision: id })} data-decision={id} onClick={followLink}>
        <Time at={at} />
      </a>
    ),
  },
  kind: { head: 'outcome', cell: ({ kind }) => <Outcome kind={kind} /> },
  route: { head: 'route', text: ({ route = '' }) => route },
  called: { head: 'called', look: 'mono', text: ({ called }) => called },
  caller: {
    head: 'caller',
    cell: ({ subject, clientId }) => {
      const [name, more] = namesOf(subject, clientId);
      return (
        <>
          {name}
          <span class="muted">{more}</span>
        </>
      );
    },
    title: ({ subject, clientId, address }) => [subject, clientId, address].filter(Boolean).join(' · '),
  },
  why: {
    head: 'why',
    cell: (row) => (row.kind === 'allowed' ? <span class="muted mono">{whyOf(row)}</span> : whyOf(row)),
    title: (row) => (row.reason === undefined ? whyOf(row) : `${row.reason}: ${whyOf(row)}`),
  },
};

/** What a row names a caller by, with what tells callers of this kind apart. The column may cut it at its end. */
function namesOf(subject = '', clientId = ''): readonly [name: string, more: string] {
  if (subject === '' || clientId === '') return [subject, clientId];
  // RFC 9068 §2.2: the subject of a token without a person is the client itself.
  if (subject === clientId) return [subject, ' for itself'];
  // The subject of a workload is a hash.
  return clientId.startsWith('workload:') ? [clientId, ` · ${subject}`] : [subject, ` · ${clientId}`];
}

/** Decisions, one line each; on a narrow screen two. */
export function DecisionTable({
  rows,
  selected,
  isBusy,
  onReading,
}: {
  readonly rows: readonly DecisionRow[];
  readonly selected: string | undefined;
  /** Whether so many rows arrive that none is shown to arrive: a hundred animations at once cost a third of a render. */
  readonly isBusy: boolean;
  /** Called when a reader begins and ceases to move through the rows by keys: meanwhile they must stay. */
  readonly onReading: (isReading: boolean) => void;
}): JSX.Element {
  return (
    <div
      class={isBusy ? 'table busy' : 'table'}
      role="table"
      aria-label="Decisions, the newest first"
      onFocusIn={({ target }) => onReading((target as HTMLElement).matches(':focus-visible'))}
      onFocusOut={() => onReading(false)}
    >
      <TableHead columns={columns} />
      {rows.map((row) => (
        <Row key={row.id} row={row} isSelected={row.id === selected} search={location.search} />
      ))}
    </div>
  );
}

interface RowParts {
  readonly row: DecisionRow;
  readonly isSelected: boolean;
  /** The query of the address: the link of a row keeps the filters. */
  readonly search: string;
}

const Row = memo(({ row, isSelected }: RowParts): JSX.Element => {
  return (
    // The row leads where its link does; a link over the whole row would hide tooltips, and text could not be selected.
    <div
      class={isSelected ? 'row selected' : 'row'}
      role="row"
      aria-selected={isSelected}
      onClick={({ target }) => {
        if ((target as HTMLElement).closest('a') === null && getSelection()?.isCollapsed !== false)
          go(withQuery({ decision: row.id }));
      }}
    >
      <Cells columns={columns} row={row} />
    </div>
  );
});

/** The sentence that answers why. */
export function whyOf({ kind, detail = '', neededScope, rule = '' }: DecisionRow): string {
  if (kind === 'allowed') return rule;
  return neededScope === undefined || kind !== 'challenged' ? detail : `needs scope ${neededScope}`;
}
