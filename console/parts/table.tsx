import type { ComponentChildren, JSX } from 'preact';

/** A column of a table. */
interface Column<Row> {
  /** Its name at the top of the table. */
  readonly head: string;
  /** The text of a cell, which is also its tooltip. */
  readonly text?: (row: Row) => string;
  /** What a cell has instead. */
  readonly cell?: (row: Row) => ComponentChildren;
  /** The tooltip of such a cell; default: none. */
  readonly title?: (row: Row) => string;
  /** More classes of its cells. */
  readonly look?: 'link' | 'mono' | 'muted' | 'mono muted';
}

/** The columns of a table in their order, by the class that their cells have in its stylesheet. */
export type Columns<Row> = Readonly<Record<string, Column<Row>>>;

/** The names of the columns of a table. */
export function TableHead({ columns }: { readonly columns: Columns<never> }): JSX.Element {
  return (
    <div class="head" role="row">
      {Object.entries(columns).map(([key, { head }]) => (
        <span key={key} role="columnheader" class={key}>
          {head}
        </span>
      ))}
    </div>
  );
}

/** A table of rows that lead nowhere, except by a link in a cell. */
export function Table<Row extends { readonly name: string }>({
  name,
  look,
  columns,
  rows,
}: {
  readonly name: string;
  /** Its class in the stylesheet. */
  readonly look: string;
  readonly columns: Columns<Row>;
  readonly rows: readonly Row[];
}): JSX.Element {
  return (
    <div class={`table ${look}`} role="table" aria-label={name}>
      <TableHead columns={columns} />
      {rows.map((row) => (
        <div key={row.name} class="row" role="row">
          <Cells columns={columns} row={row} />
        </div>
      ))}
    </div>
  );
}

/** The cells of a row. */
export function Cells<Row>({ columns, row }: { readonly columns: Columns<Row>; readonly row: Row }): JSX.Element {
  return (
    <>
      {Object.entries(columns).map(([key, { text, cell = text, title = text, look }]) => (
        <span key={key} role="cell" class={look === undefined ? key : `${key} ${look}`} title={title?.(row)}>
          {cell?.(row)}
        </span>
      ))}
    </>
  );
}
