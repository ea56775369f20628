import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { endpoints, type PolicyView } from '../../src/capabilities/console/messages.ts';
import { type Address, followLink } from '../address.ts';
import { read, Refused } from '../requests.ts';
import { useKnown } from '../status.ts';
import { Playground } from './playground.tsx';
import { type Columns, Table } from '../parts/table.tsx';
import { TestCount } from '../parts/test-count.tsx';

const columns: Columns<PolicyView> = {
  policy: {
    head: 'policy',
    look: 'link',
    cell: ({ name }) => (
      <a id={idOf(name)} href={`/policies?policy=${encodeURIComponent(name)}`} onClick={followLink}>
        {name}
      </a>
    ),
    title: ({ file }) => file,
  },
  users: {
    head: 'routes',
    cell: ({ routes }) =>
      routes.length === 0 ? <span class="muted">none</span> : routes.map((route) => route.name).join(', '),
  },
  rules: {
    head: 'rules',
    cell: ({ rules }) => (
      <>
        {rules}
        <span class="unit">{rules === 1 ? ' rule' : ' rules'}</span>
      </>
    ),
  },
  tests: {
    head: 'tests',
    cell: ({ tests, properties }) => <TestCount results={[...(tests?.results ?? []), ...(properties ?? [])]} />,
  },
  gaps: {
    head: 'rules without a test',
    look: 'muted',
    cell: ({ tests }) =>
      tests === undefined || tests.gaps.length === 0 ? 'none' : tests.gaps.map(({ rule }) => rule).join(', '),
  },
};

/** The policies in force, and a playground for each. */
export function Policies({ address: { query } }: { readonly address: Address }): JSX.Element {
  const [policies, setPolicies] = useState<readonly PolicyView[]>();
  const [problem, setProblem] = useState('');
  const [attempts, setAttempts] = useState(0);
  const left = useRef('');
  const { connection } = useKnown();
  useEffect(() => {
    if (policies !== undefined) return;
    read(endpoints.policies).then(setPolicies, (error: unknown) =>
      setProblem(error instanceof Refused ? error.message : 'The gateway does not answer.'),
    );
  }, [connection, attempts]);
  const wanted = query.get('policy') ?? '';
  const opened = policies?.find(({ name }) => name === wanted);
  // The link that opened the playground has gone: without this, the focus would begin at the top again.
  useEffect(() => {
    if (opened === undefined) document.getElementById(idOf(left.current))?.focus();
    else left.current = opened.name;
  }, [opened]);
  if (policies === undefined && problem === '') return <p class="empty">Loading…</p>;
  if (policies === undefined) {
    return (
      <div class="empty">
        <p>{problem}</p>
        <button type="button" class="button" onClick={() => setAttempts(attempts + 1)}>
          Try again
        </button>
      </div>
    );
  }
  if (policies.length === 0) {
    return <p class="empty">No route has a policy: every valid token may call. Add one as policies/NAME.yaml.</p>;
  }
  if (opened !== undefined) {
    return <Playground key={opened.name} policy={opened} decision={query.get('decision') ?? undefined} />;
  }
  return (
    <>
      {wanted !== '' && (
        <p class="banner" role="alert">
          There is no policy {wanted} in force.
        </p>
      )}
      <Table name="Policies in force" look="policies" columns={columns} rows={policies} />
    </>
  );
}

/** The id of the link to a policy. */
function idOf(policy: string): string {
  return `policy-${policy}`;
}
