import { render, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { views } from '../src/capabilities/console/messages.ts';
import { followLink, useAddress } from './address.ts';
import { Health } from './health/health.tsx';
import { useKeys } from './keys.ts';
import { Live } from './live/live.tsx';
import { Policies } from './policies/policies.tsx';
import { ago, Time } from './parts/time.tsx';
import { Gateway, type Known, troublesOf, useGateway } from './status.ts';

function Page(): JSX.Element {
  const address = useAddress();
  const known = useGateway();
  const view = views.find(({ path }) => path === address.path) ?? views[0];
  useEffect(() => void (document.title = `${view.name} · Sallyport`), [view]);
  return (
    <Gateway.Provider value={known}>
      <header class="top">
        <a class="brand" href="/" onClick={followLink}>
          Sallyport
        </a>
        <nav aria-label="Views">
          {views.map(({ path, name }) => (
            <a key={path} href={path} aria-current={view.path === path ? 'page' : undefined} onClick={followLink}>
              {name}
            </a>
          ))}
        </nav>
        <State known={known} />
      </header>
      <Notice known={known} />
      <main>
        <h1 class="hidden">{view.name}</h1>
        {view.path === '/' && <Live address={address} />}
        {view.path === '/policies' && <Policies address={address} />}
        {view.path === '/health' && <Health />}
      </main>
      <KeysHelp />
    </Gateway.Provider>
  );
}

/** The configuration in force, and whether everything is well. What the page cannot know, it does not claim. */
function State({ known: { status, connection } }: { readonly known: Known }): JSX.Element {
  if (connection !== 'connected' || status === undefined) {
    return <p class="state muted">{connection === 'connecting' ? 'Loading…' : connection}</p>;
  }
  const troubles = troublesOf(status);
  return (
    <p class="state">
      <span class="muted">
        configuration <code title={status.config}>{status.config.slice(0, 7)}</code> ·{' '}
        <Time at={status.since} relative />
      </span>
      <a class={troubles.length === 0 ? 'health good' : 'health bad'} href="/health" onClick={followLink}>
        {troubles.length === 0 ? 'all well' : (troubles[0] ?? '')}
        {troubles.length > 1 && ` and ${troubles.length - 1} more`}
      </a>
    </p>
  );
}

/** What the reader must know of the connection. */
function Notice({ known: { connection, status, at } }: { readonly known: Known }): JSX.Element | null {
  if (connection === 'signed out') {
    return (
      <p class="banner" role="alert">
        Your session has ended. <a href={location.href}>Sign in</a>
      </p>
    );
  }
  if (connection !== 'disconnected') return null;
  return (
    <p class="banner" role="alert">
      The gateway does not answer.{' '}
      {status !== undefined && (
        <>
          What is shown is of <Time at={at} />, {ago(at)} ago.{' '}
        </>
      )}
      Retrying.
    </p>
  );
}

const keys = [
  ['/', 'filter'],
  ['j k', 'next and previous decision'],
  ['Enter', 'open'],
  ['Esc', 'close'],
  ['p', 'pause'],
  ['?', 'this list'],
];

function KeysHelp(): JSX.Element | null {
  const [isOpen, setIsOpen] = useState(false);
  useKeys({ '?': () => setIsOpen(!isOpen), ...(isOpen && { Escape: () => setIsOpen(false) }) });
  if (!isOpen) return null;
  return (
    <div class="keys" role="dialog" aria-label="Keys">
      <dl>
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

render(<Page />, document.body);
