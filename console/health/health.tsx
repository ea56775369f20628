import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { KeySetState } from '../../src/model/authorization-server.ts';
import type { LockState } from '../../src/model/lock.ts';
import { endpoints, type RouteView, type WaitingApprovals } from '../../src/admin/console/messages.ts';
import { read } from '../requests.ts';
import { Time } from '../parts/time.tsx';
import { daysUntil, expiresSoon, useKnown } from '../status.ts';
import { Cells, type Columns, TableHead } from '../parts/table.tsx';

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
    locks,
    workers,
    openStreams,
    certificateExpires,
    routes,
    grafana,
  } = status;
  return (
    <div class="health-view">
      <section>
        <h2>Configuration</h2>
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
        <dl class="pairs">
          <Pair name="in force">
            <code title={config}>{config.slice(0, 12)}</code>, <Time at={since} relative />
          </Pair>
          <Pair name="processes">{workers}</Pair>
          <Pair name="open streams">{openStreams}</Pair>
          {certificateExpires !== undefined && (
            <Pair name="certificate">
              <Expiry at={certificateExpires} />
            </Pair>
          )}
          {grafana !== undefined && (
            <Pair name="history">
              <a href={grafana} rel="noreferrer">
                Grafana
              </a>
            </Pair>
          )}
        </dl>
      </section>
      <section>
        <h2>Authorization servers</h2>
        {servers.length === 0 && <p class="muted">None is configured.</p>}
        {servers.map(({ name, issuer, state, problem, circuits, keys }) => (
          <div key={name} class="dependency">
            <Sign state={state === 'available' ? 'good' : state === 'unknown' ? 'unknown' : 'bad'} word={state} />
            <div>
              <b>{name}</b> <span class="muted mono">{issuer}</span>
              {keys !== undefined && <KeySet keys={keys} />}
              {problem !== undefined && <p>{problem}</p>}
              {Object.entries(circuits ?? {}).map(([operation, circuit]) => (
                <p key={operation}>
                  {operation} failed 5 times: {circuit === 'open' ? 'no call for now' : 'testing with one call'}
                </p>
              ))}
            </div>
          </div>
        ))}
      </section>
      {store !== undefined && (
        <section>
          <h2>Shared store</h2>
          <div class="dependency">
            <Sign state={store.state === 'available' ? 'good' : 'bad'} word={store.state} />
            <div>{store.problem}</div>
          </div>
        </section>
      )}
      {revocation !== undefined && (
        <section>
          <h2>Revocation</h2>
          <p>
            {revocation.kept.toLocaleString('en')} kept, of at most {revocation.most.toLocaleString('en')}
          </p>
          {revocation.sources.map(({ name, up, problem, lastEventAt }) => (
            <div key={name} class="dependency">
              <Sign
                state={up === undefined ? 'unknown' : up ? 'good' : 'bad'}
                word={up === undefined ? 'left to another replica' : up ? 'available' : 'unavailable'}
              />
              <div>
                <b>{name}</b>{' '}
                <span class="muted">
                  last event here: {lastEventAt === undefined ? 'none' : <Time at={lastEventAt} relative />}
                </span>
                {problem !== undefined && <p>{problem}</p>}
              </div>
            </div>
          ))}
        </section>
      )}
      {locks.length > 0 && (
        <section>
          <h2>Locked tools</h2>
          {locks.map((lock) => (
            <LockedRoute key={lock.route} lock={lock} />
          ))}
        </section>
      )}
      {status.hasApprovals && <Approvals />}
      <section>
        <h2>Routes</h2>
        <div class="table routes" role="table" aria-label="Routes">
          <TableHead columns={columns} />
          {routes.map((route) => (
            <div key={route.name} class="row" role="row">
              <Cells columns={columns} row={route} />
            </div>
          ))}
        </div>
      </section>
    </div>
  );
}

const APPROVALS_EVERY_MS = 5_000;

/** The requests that wait for a person. Only the front door's page, the API and the command decide. */
function Approvals(): JSX.Element {
  const [known, setKnown] = useState<WaitingApprovals>();
  useEffect(() => {
    const ask = (): void => void read(endpoints.approvals).then(setKnown, () => setKnown(undefined));
    ask();
    const timer = setInterval(ask, APPROVALS_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const { count = 0, oldest = [], problem } = known ?? {};
  return (
    <section>
      <h2>Approvals</h2>
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
    </section>
  );
}

function Pair({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
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
    <div class="dependency">
      <Sign state={state} word={word} />
      <div>
        <b>{route}</b>{' '}
        <span class="muted">
          lock: {mode}
          {comparedAt !== undefined && (
            <>
              , compared <Time at={comparedAt} relative />
            </>
          )}
        </span>
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
      </div>
    </div>
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
