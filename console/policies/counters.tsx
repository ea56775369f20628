import type { JSX } from 'preact';
import type { DraftAnswer, DraftMeaning, DraftReplay, DraftTests } from '../../src/admin/console/messages.ts';
import { TestCount } from '../parts/test-count.tsx';

/** What the draft means, in counters that open: its tests and properties, what it changes, and for which decisions. */
export function Counters({
  answer,
  isChanged,
}: {
  readonly answer: DraftAnswer | undefined;
  readonly isChanged: boolean;
}): JSX.Element {
  const { tests, properties, meaning, replay, problems = [] } = answer ?? {};
  const isBroken = problems.length > 0;
  return (
    <div class="counters">
      <details>
        <summary>Tests {isBroken ? <Waiting word="–" /> : <TestCount results={tests?.results} />}</summary>
        {tests !== undefined && <Tests tests={tests} />}
      </details>
      {properties?.length !== 0 && (
        <details>
          <summary>
            Properties{' '}
            {properties === undefined ? (
              <Waiting word={isBroken ? '–' : 'proving…'} />
            ) : (
              <TestCount results={properties} />
            )}
          </summary>
          {properties !== undefined && <Results results={properties} />}
        </details>
      )}
      <details>
        <summary>Meaning of this edit {isBroken ? <Waiting word="–" /> : <MeaningCount meaning={meaning} />}</summary>
        {meaning !== undefined && <Meaning meaning={meaning} />}
      </details>
      <details>
        <summary>
          Kept decisions {isBroken ? <Waiting word="–" /> : <ReplayCount replay={replay} isChanged={isChanged} />}
        </summary>
        {replay !== undefined && <Changes replay={replay} />}
      </details>
    </div>
  );
}

function Waiting({ word }: { readonly word: string }): JSX.Element {
  return <span class="muted">{word}</span>;
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

function MeaningCount({ meaning }: { readonly meaning: DraftMeaning | undefined }): JSX.Element {
  if (meaning === undefined) return <Waiting word="comparing…" />;
  const { differences, undecided } = meaning;
  if (differences.length + undecided.length === 0) return <span class="muted">nothing differs, for any caller</span>;
  const kinds = [...new Set(differences.map(({ kind }) => kind))];
  const counts = kinds.map((kind) => `${differences.filter((each) => each.kind === kind).length} ${kind}`);
  if (undecided.length > 0) counts.push(`${undecided.length} undecided`);
  return <span class="warn">{counts.join(', ')}</span>;
}

function Meaning({ meaning: { differences, undecided } }: { readonly meaning: DraftMeaning }): JSX.Element {
  return (
    <ul class="results">
      {differences.map(({ kind, rule, was, now, witness }) => (
        <li key={`${kind} ${rule}`}>
          {kind}: <code>{rule}</code>{' '}
          <span class="muted">
            was {was}, now {now}
          </span>
          {witness.map((line) => (
            <p key={line} class="muted mono">
              {line}
            </p>
          ))}
        </li>
      ))}
      {undecided.map(({ rule, why }) => (
        <li key={`${rule} ${why}`}>
          undecided: <code>{rule}</code> <span class="muted">{why}</span>
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
  if (replay === undefined) return <Waiting word="deciding again…" />;
  const countOf = (isUnknown: boolean): number =>
    replay.changes.reduce((sum, { change, count }) => ((change === 'unknown') === isUnknown ? sum + count : sum), 0);
  const [differing, unknown] = [countOf(false), countOf(true)];
  return (
    <span class={differing > 0 && isChanged ? 'warn' : 'muted'}>
      {differing.toLocaleString()} of {replay.decided.toLocaleString()} would differ
      {unknown > 0 && `, ${unknown.toLocaleString()} unknown`}
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
