import type { ComponentChildren, JSX } from 'preact';

/** A name and its value; undefined, false or empty: it has none. */
export type Pair = readonly [name: string, value: ComponentChildren];

/** Names and their values. A name without a value is left out. */
export function Pairs({ of }: { readonly of: readonly Pair[] }): JSX.Element {
  const shown = of.filter(([, value]) => value !== undefined && value !== false && value !== '');
  return (
    <dl class="pairs">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Lines of text, one paragraph each. */
export function Lines({ of, look = 'muted' }: { readonly of: readonly string[]; readonly look?: string }): JSX.Element {
  return (
    <>
      {of.map((line) => (
        <p key={line} class={look}>
          {line}
        </p>
      ))}
    </>
  );
}

/** A part of a view under a heading. */
export function Section({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
