import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { KeySetState } from '../../src/ports/authorization-server-client.ts';
import type { LockState } from '../../src/mcp/definitions.ts';
import { type RouteView, waiting } from '../../src/capabilities/console/messages.ts';
import type { WaitingApprovals } from '../../src/capabilities/operator-approvals.ts';
import { read } from '../requests.ts';
import { Pairs, Section } from '../parts/pairs.tsx';
import { type Columns, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { daysUntil, expiresSoon, useKnown, useRepeated } from '../status.ts';

const columns: Columns<RouteView> = {
  name: { head: 'route', cell: ({ name }) => name },
  address: { head: 'address', look: 'mono', text: ({ url }) => url },
  protocol: { head: 'protocol', look: 'muted', cell: ({ protocol }) => protocol },
  policy: {
    head: 'policy',
    cell: ({ isPublic, policy }) => (isPublic ? 'none: public' : (policy ?? 'none: any valid token')),
  },
  upstream: { head: 'upstream', look: 'mono muted', text: ({ upstream }) => upstream },
};

/** What the gateway depends on, and how it is. */
export function Health(): JSX.Element {
  const { status, connection } = useKnown();
  if (status === undefined) {
    return <p class="empty">{connection === 'disconnected' ? 'The gateway does not answer.' : 'Loading…'}</p>;
  }
  const {
    config,
    since,
    problems,
    servers,
    store,
    revocation,
    locks = [],
    certificateExpires,
    routes,
    grafana,
  } = status;
  const inForce = (
    <>
      <code title={config}>{config.slice(0, 12)}</code>, <Time at={since} relative />
    </>
  );
  return (
    <div class="health-view">
      <Section title="Configuration">
        {problems.length > 0 && (
          <div class="refused-files" role="alert">
            <p>
              <Sign state="bad" word="refused" /> The newest files are not in force. The last good configuration goes
              on.
            </p>
            <ul>
              {problems.map((problem) => (
                <li key={problem} class="mono">
                  {problem}
                </li>
              ))}
            </ul>
          </div>
        )}
        <Pairs
          of={[
            ['in force', inForce],
            ['processes', status.workers],
            ['open streams', status.openStreams],
            ['certificate', certificateExpires !== undefined && <Expiry at={certificateExpires} />],
            [
              'history',
              grafana !== undefined && (
                <a href={grafana} rel="noreferrer">
                  Grafana
                </a>
              ),
            ],
          ]}
        />
      </Section>
      <Section title="Authorization servers">
        {servers.length === 0 && <p class="muted">None is configured.</p>}
        {servers.map(({ name, issuer, state, problem, circuits, keys }) => (
          <Dependency key={name} name={name} state={signOf(state)} word={state} about={<code>{issuer}</code>}>
            {keys !== undefined && <KeySet keys={keys} />}
            {problem !== undefined && <p>{problem}</p>}
            {Object.entries(circuits ?? {}).map(([operation, circuit]) => (
              <p key={operation}>
                {operation} failed 5 times: {circuit === 'open' ? 'no call for now' : 'testing with one call'}
              </p>
            ))}
          </Dependency>
        ))}
      </Section>
      {store !== undefined && (
        <Section title="Shared store">
          <Dependency state={signOf(store.state)} word={store.state}>
            {store.problem}
          </Dependency>
        </Section>
      )}
      {revocation !== undefined && (
        <Section title="Revocation">
          <p>
            {revocation.kept.toLocaleString('en')} kept, of at most {revocation.most.toLocaleString('en')}
          </p>
          {revocation.sources.map(({ name, up, problem, lastEventAt }) => (
            <Dependency
              key={name}
              name={name}
              state={up === undefined ? 'unknown' : up ? 'good' : 'bad'}
              word={up === undefined ? 'left to another replica' : up ? 'available' : 'unavailable'}
              about={<>last event here: {lastEventAt === undefined ? 'none' : <Time at={lastEventAt} relative />}</>}
            >
              {problem !== undefined && <p>{problem}</p>}
            </Dependency>
          ))}
        </Section>
      )}
      {locks.length > 0 && (
        <Section title="Locked tools">
          {locks.map((lock) => (
            <LockedRoute key={lock.route} lock={lock} />
          ))}
        </Section>
      )}
      {status.hasApprovals && <Approvals />}
      <Section title="Routes">
        <Table name="Routes" look="routes" columns={columns} rows={routes} />
      </Section>
    </div>
  );
}

interface DependencyParts {
  readonly name?: string;
  readonly state: keyof typeof signs;
  readonly word: string;
  /** What is said beside the name. */
  readonly about?: ComponentChildren;
  readonly children: ComponentChildren;
}

function Dependency({ name, state, word, about, children }: DependencyParts): JSX.Element {
  return (
    <div class="dependency">
      <Sign state={state} word={word} />
      <div>
        {name !== undefined && (
          <>
            <b>{name}</b> <span class="muted">{about}</span>
          </>
        )}
        {children}
      </div>
    </div>
  );
}

function signOf(state: string): keyof typeof signs {
  if (state === 'unknown') return state;
  return state === 'available' ? 'good' : 'bad';
}

/** The requests that wait for a person. Only the front door's page, the API and the command decide. */
function Approvals(): JSX.Element {
  const [known, setKnown] = useState<WaitingApprovals>();
  useRepeated(() => void read(waiting).then(setKnown, () => setKnown(undefined)));
  const { count = 0, oldest = [], problem } = known ?? {};
  return (
    <Section title="Approvals">
      {problem !== undefined && <p class="bad">It is unknown what waits: {problem}</p>}
      {problem === undefined && (
        <p class="muted">{known === undefined ? 'Loading…' : count === 0 ? 'No call waits.' : `Waiting: ${count}`}</p>
      )}
      <ul aria-label="Calls that wait for an approval">
        {oldest.map(({ id, route, called, subject, client, createdAt, endsAt }) => (
          <li key={id} class="dependency">
            <span class="sign-word muted">
              <Time at={createdAt} relative />
            </span>
            <div>
              {/* Callers choose these names: none may move the others. */}
              <b>
                <bdi>{called}</bdi>
              </b>{' '}
              on {route} by <bdi>{subject ?? 'no subject'}</bdi> with <bdi>{client ?? 'an unknown client'}</bdi>
              <p class="muted">
                <code>{id}</code>, until <Time at={endsAt} />
              </p>
            </div>
          </li>
        ))}
      </ul>
      {count > oldest.length && <p class="muted">and {count - oldest.length} more</p>}
    </Section>
  );
}

/** The signing keys of a server, and their age. */
function KeySet({ keys: { count, fetched, newest } }: { readonly keys: KeySetState }): JSX.Element {
  return (
    <p class="muted">
      {count === 0 ? 'no signing key' : count === 1 ? '1 signing key' : `${count} signing keys`}, fetched{' '}
      <Time at={Date.parse(fetched)} relative />
      {count > 0 && (
        <>
          ; the newest first seen <Time at={Date.parse(newest)} relative />
        </>
      )}
    </p>
  );
}

const differences = { changed: 'changed', new: 'is new', twice: 'appears twice', gone: 'is gone' } as const;

/** What the MCP server of a route shows, beside what was approved. */
function LockedRoute({ lock }: { readonly lock: LockState }): JSX.Element {
  const { route, mode, comparedAt, fault, count, differing } = lock;
  const state = count > 0 ? 'bad' : comparedAt === undefined ? 'unknown' : 'good';
  const word = count > 0 ? `${count} changed` : comparedAt === undefined ? 'not compared' : 'as approved';
  return (
    <Dependency
      name={route}
      state={state}
      word={word}
      about={
        <>
          lock: {mode}
          {comparedAt !== undefined && (
            <>
              , compared <Time at={comparedAt} relative />
            </>
          )}
        </>
      }
    >
      {fault !== undefined && <p>The MCP server cannot be asked: {fault}</p>}
      {differing.length > 0 && (
        <ul aria-label={`Changed definitions of ${route}`}>
          {differing.map(({ kind, name, difference, members }) => (
            <li key={`${kind} ${name}`}>
              {kind} {name !== '' && <code>{name}</code>}
              {members.length > 0 && `: ${members.join(', ')}`} {differences[difference]}
            </li>
          ))}
          {count > differing.length && <li>and {count - differing.length} more</li>}
        </ul>
      )}
    </Dependency>
  );
}

const signs = { good: '✓', bad: '▲', unknown: '○' } as const;

function Sign({ state, word }: { readonly state: keyof typeof signs; readonly word: string }): JSX.Element {
  return (
    <span class={`sign-word ${state}`}>
      <span aria-hidden="true">{signs[state]}</span> {word}
    </span>
  );
}

function Expiry({ at }: { readonly at: number }): JSX.Element {
  const days = daysUntil(at);
  return <span class={expiresSoon(at) ? 'bad' : ''}>{days < 0 ? 'expired' : `expires in ${days} days`}</span>;
}
