import type { ComponentChildren, JSX } from 'preact';
import type { DraftAnswer, DraftMeaning, DraftReplay, DraftTests } from '../../src/capabilities/console/messages.ts';
import { Lines } from '../parts/pairs.tsx';
import { TestCount } from '../parts/test-count.tsx';

interface CountersParts {
  readonly answer: DraftAnswer | undefined;
  readonly isChanged: boolean;
}

/** What the draft means, in counters that open: its tests and properties, what it changes, and for which decisions. */
export function Counters({ answer, isChanged }: CountersParts): JSX.Element {
  const { tests, properties, meaning, replay, problems = [] } = answer ?? {};
  const isBroken = problems.length > 0;
  const none = <span class="muted">–</span>;
  return (
    <div class="counters">
      <Counter title="Tests" count={isBroken ? none : <TestCount results={tests?.results} />}>
        {tests !== undefined && <Tests tests={tests} />}
      </Counter>
      {properties?.length !== 0 && (
        <Counter
          title="Properties"
          count={
            properties === undefined ? (
              isBroken ? (
                none
              ) : (
                <Waiting word="proving…" />
              )
            ) : (
              <TestCount results={properties} />
            )
          }
        >
          {properties !== undefined && <Results results={properties} />}
        </Counter>
      )}
      <Counter title="Meaning of this edit" count={isBroken ? none : <MeaningCount meaning={meaning} />}>
        {meaning !== undefined && <Meaning meaning={meaning} />}
      </Counter>
      <Counter title="Kept decisions" count={isBroken ? none : <ReplayCount replay={replay} isChanged={isChanged} />}>
        {replay !== undefined && <Changes replay={replay} />}
      </Counter>
    </div>
  );
}

interface CounterParts {
  readonly title: string;
  readonly count: JSX.Element;
  readonly children: ComponentChildren;
}

function Counter({ title, count, children }: CounterParts): JSX.Element {
  return (
    <details>
      <summary>
        {title} {count}
      </summary>
      {children}
    </details>
  );
}

function Waiting({ word }: { readonly word: string }): JSX.Element {
  return <span class="muted">{word}</span>;
}

function Tests({ tests: { results, problems, gaps } }: { readonly tests: DraftTests }): JSX.Element {
  return (
    <div class="results">
      <Lines of={problems.map(({ line, message }) => `${line}: ${message}`)} look="bad" />
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
          <Lines of={fault ?? []} look="muted mono" />
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
          <Lines of={witness} look="muted mono" />
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

type ReplayParts = Readonly<{ replay: DraftReplay | undefined; isChanged: boolean }>;

function ReplayCount({ replay, isChanged }: ReplayParts): JSX.Element {
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
