import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import type { DecisionRow } from '../../src/admin/console/messages.ts';
import { followLink, go, withQuery } from '../address.ts';
import { Outcome } from '../parts/outcome.tsx';
import { Time } from '../parts/time.tsx';
import { TableHead } from '../parts/table-head.tsx';

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
      <TableHead columns={['time', 'outcome', 'route', 'called', 'caller', 'why']} />
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
  const { id, at, kind, route = '', called, subject, clientId, address, reason = '' } = row;
  const why = whyOf(row);
  const link = withQuery({ decision: id });
  return (
    // The row leads where its link does; a link over the whole row would hide tooltips, and text could not be selected.
    <div
      class={isSelected ? 'row selected' : 'row'}
      role="row"
      aria-selected={isSelected}
      onClick={({ target }) => {
        if ((target as HTMLElement).closest('a') === null && getSelection()?.isCollapsed !== false) go(link);
      }}
    >
      <span role="cell" class="time">
        <a href={link} data-decision={id} onClick={followLink}>
          <Time at={at} />
        </a>
      </span>
      <span role="cell" class="kind">
        <Outcome kind={kind} />
      </span>
      <span role="cell" class="route" title={route}>
        {route}
      </span>
      <span role="cell" class="called mono" title={called}>
        {called}
      </span>
      <span role="cell" class="caller" title={[subject, clientId, address].filter(Boolean).join(' · ')}>
        {subject ?? ''}
        {clientId !== undefined && <span class="muted">{subject === undefined ? clientId : ` · ${clientId}`}</span>}
      </span>
      <span role="cell" class="why" title={reason === '' ? why : `${reason}: ${why}`}>
        {kind === 'allowed' ? <span class="muted mono">{why}</span> : why}
      </span>
    </div>
  );
});

/** The sentence that answers why. */
export function whyOf({ kind, detail = '', neededScope, rule = '' }: DecisionRow): string {
  if (kind === 'allowed') return rule;
  return neededScope === undefined || kind !== 'challenged' ? detail : `needs scope ${neededScope}`;
}
