import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { DraftTests, PolicyView } from '../../src/console/messages.ts';
import { type Address, followLink, go } from '../address.ts';
import { useKeys } from '../keys.ts';
import { read } from '../requests.ts';
import { Playground } from './playground.tsx';

/** The policies in force, and a playground for each. */
export function Policies({ address: { query } }: { readonly address: Address }): JSX.Element {
  const [policies, setPolicies] = useState<readonly PolicyView[]>();
  const [problem, setProblem] = useState('');
  useEffect(() => {
    read<readonly PolicyView[]>('/console/policies').then(setPolicies, (error: Error) => setProblem(error.message));
  }, []);
  const opened = policies?.find(({ name }) => name === query.get('policy'));
  useKeys({ Escape: () => opened !== undefined && go('/policies') });
  if (policies === undefined) return <p class="empty">{problem === '' ? 'Loading…' : problem}</p>;
  if (policies.length === 0) {
    return <p class="empty">No route has a policy: every valid token may call. Add one as policies/NAME.yaml.</p>;
  }
  if (opened !== undefined) {
    return <Playground key={opened.name} policy={opened} decision={query.get('decision') ?? undefined} />;
  }
  return (
    <div class="table policies" role="table" aria-label="Policies in force">
      <div class="head" role="row">
        {['policy', 'routes', 'rules', 'tests', 'rules without a test'].map((name) => (
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
      </div>
      {policies.map((policy) => (
        <Row key={policy.name} policy={policy} />
      ))}
    </div>
  );
}

function Row({
  policy: { name, file, routes, rules, tests, properties },
}: {
  readonly policy: PolicyView;
}): JSX.Element {
  return (
    <div class="row" role="row">
      <span role="cell" class="time" title={file}>
        <a class="name" href={`/policies?policy=${encodeURIComponent(name)}`} onClick={followLink}>
          {name}
        </a>
      </span>
      <span role="cell">
        {routes.length === 0 ? <span class="muted">none</span> : routes.map((route) => route.name).join(', ')}
      </span>
      <span role="cell">{rules}</span>
      <span role="cell">
        <TestCount results={[...(tests?.results ?? []), ...(properties ?? [])]} />
      </span>
      <span role="cell" class="muted">
        {tests === undefined || tests.gaps.length === 0 ? 'none' : tests.gaps.map(({ rule }) => rule).join(', ')}
      </span>
    </div>
  );
}

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
