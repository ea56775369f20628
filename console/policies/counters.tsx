import type { JSX } from 'preact';
import type { DraftAnswer, DraftReplay, DraftTests } from '../../src/console/messages.ts';
import { TestCount } from './policies.tsx';

/** What the draft means, in counters that open: its tests, and the kept decisions that would differ. */
export function Counters({
  answer,
  isChanged,
}: {
  readonly answer: DraftAnswer | undefined;
  readonly isChanged: boolean;
}): JSX.Element {
  const { tests, properties, replay } = answer ?? {};
  return (
    <div class="counters">
      <details>
        <summary>
          Tests <TestCount results={tests?.results} />
        </summary>
        {tests !== undefined && <Tests tests={tests} />}
      </details>
      {properties?.length !== 0 && (
        <details>
          <summary>
            Properties{' '}
            {properties === undefined ? <span class="muted">proving…</span> : <TestCount results={properties} />}
          </summary>
          {properties !== undefined && <Results results={properties} />}
        </details>
      )}
      <details>
        <summary>
          Kept decisions <ReplayCount replay={replay} isChanged={isChanged} />
        </summary>
        {replay !== undefined && <Changes replay={replay} />}
      </details>
    </div>
  );
}

function Tests({ tests: { results, problems, gaps } }: { readonly tests: DraftTests }): JSX.Element {
  return (
    <div class="results">
      {problems.map(({ line, message }) => (
        <p key={line + message} class="bad">
          {line}: {message}
        </p>
      ))}
      <Results results={results} />
      {gaps.map(({ rule, missing }) => (
        <p key={rule} class="muted">
          <code>{rule}</code>: {missing}
        </p>
      ))}
    </div>
  );
}

function Results({ results }: { readonly results: DraftTests['results'] }): JSX.Element {
  return (
    <ul class="results">
      {results.map(({ name, line, fault }) => (
        <li key={line}>
          <span class={fault === undefined ? 'good' : 'bad'}>{fault === undefined ? '✓' : '✕'}</span> {name}
          {fault?.map((words) => (
            <p key={words} class="muted mono">
              {words}
            </p>
          ))}
        </li>
      ))}
    </ul>
  );
}

function ReplayCount({
  replay,
  isChanged,
}: {
  readonly replay: DraftReplay | undefined;
  readonly isChanged: boolean;
}): JSX.Element {
  if (replay === undefined) return <span class="muted">deciding again…</span>;
  const differing = replay.changes.reduce((sum, { count }) => sum + count, 0);
  return (
    <span class={differing > 0 && isChanged ? 'warn' : 'muted'}>
      {differing.toLocaleString()} of {replay.decided.toLocaleString()} would differ
    </span>
  );
}

function Changes({ replay: { changes } }: { readonly replay: DraftReplay }): JSX.Element {
  if (changes.length === 0) return <p class="muted">Each kept decision of this policy would be the same.</p>;
  return (
    <div class="scrolled" tabIndex={0} role="region" aria-label="Decisions that would differ">
      <table class="changes">
        <thead>
          <tr>
            {['count', 'change', 'called', 'caller', 'now', 'with the draft'].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {changes.slice(0, 100).map(({ count, change, called, subject, before, after }) => (
            <tr key={[change, called, subject, before, after].join('|')}>
              <td>{count.toLocaleString()}</td>
              <td>{change}</td>
              <td class="mono">{called}</td>
              <td>{subject}</td>
              <td>{before}</td>
              <td>{after}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
