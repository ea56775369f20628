import type { JSX } from 'preact';

/** The names of the columns of a table. */
export function TableHead({ columns }: { readonly columns: readonly string[] }): JSX.Element {
  return (
    <div class="head" role="row">
      {columns.map((name) => (
        <span key={name} role="columnheader">
          {name}
        </span>
      ))}
    </div>
  );
}
