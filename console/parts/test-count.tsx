import type { JSX } from 'preact';
import type { DraftTests } from '../../src/capabilities/console/messages.ts';

/** How many tests pass and fail. */
export function TestCount({ results = [] }: { readonly results?: DraftTests['results'] | undefined }): JSX.Element {
  const failed = results.filter(({ fault }) => fault !== undefined).length;
  if (results.length === 0) return <span class="muted">none</span>;
  return (
    <>
      <span class="good">{results.length - failed} ✓</span>
      {failed > 0 && <span class="bad"> {failed} ✕</span>}
    </>
  );
}
