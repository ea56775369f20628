import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type DecisionDetail, endpoints, type TokenView } from '../../src/capabilities/console/messages.ts';
import type { OutcomeKind } from '../../src/core/model/outcome-kind.ts';
import { followLink, withQuery } from '../address.ts';
import { whyOf } from '../live/table.tsx';
import { CopyButton, Id } from '../parts/copy.tsx';
import { Outcome } from '../parts/outcome.tsx';
import { Lines, type Pair, Pairs } from '../parts/pairs.tsx';
import { WholeTime } from '../parts/time.tsx';
import { read, Refused } from '../requests.ts';
import { Conditions } from './conditions.tsx';

/** One decision, explained: a panel beside the list, or a page on a narrow screen. */
export function DecisionPanel({ id, onClose }: { readonly id: string; readonly onClose: () => void }): JSX.Element {
  const [detail, setDetail] = useState<DecisionDetail>();
  const [problem, setProblem] = useState<string>();
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    read(endpoints.decision, new URLSearchParams({ id })).then(setDetail, (error: unknown) =>
      setProblem(
        error instanceof Refused
          ? 'This decision is no longer kept. The decision log has it: sallyport explain --decision ID --log FILE.'
          : 'The gateway does not answer.',
      ),
    );
    panel.current?.focus();
  }, []);
  return (
    <aside class="panel" aria-label="Decision" tabIndex={-1} ref={panel}>
      <div class="panel-top">
        {detail !== undefined && <Outcome kind={detail.kind} />}
        <Id value={id} />
        <button type="button" class="button close" onClick={onClose}>
          Close
        </button>
      </div>
      {detail === undefined ? <p class="empty">{problem ?? 'Loading…'}</p> : <Detail detail={detail} />}
    </aside>
  );
}

const words: Readonly<Record<OutcomeKind, string>> = {
  allowed: 'Allowed',
  challenged: 'Refused for now',
  refused: 'Refused',
  unavailable: 'Could not be decided',
  shadow: 'Passed in shadow mode',
};

function Detail({ detail }: { readonly detail: DecisionDetail }): JSX.Element {
  const { kind, called, route, at, address, token, answer, notes, conditions, remedies, policy, test } = detail;
  const { reason, rule, method, durationMs, requestId, traceId, version, actors = [], inner = [], list } = detail;
  const why = whyOf(detail);
  return (
    <>
      <h2>
        {words[kind]}
        {why !== '' && `: ${why}`}
      </h2>
      <p>
        {callerOf(detail)} <span class="muted">called</span> <code>{called}</code> <span class="muted">on</span>{' '}
        {route ?? 'no route'}
        {address !== undefined && ` from ${address}`}, <WholeTime at={at} />
      </p>
      {list !== undefined && (
        <section>
          <h3>Withheld from the list</h3>
          <p class="muted">
            by {list.by.map((each) => each.replace('_', ' ')).join(', ')}; {list.shown} shown
          </p>
          <p class="withheld">
            {list.withheld.map((name, index) => (
              <>
                {index > 0 && ', '}
                <code>{name}</code>
              </>
            ))}
            {list.more > 0 && ` and ${list.more} more`}
          </p>
        </section>
      )}
      {remedies.length > 0 && (
        <section>
          <h3>What would have allowed it</h3>
          <ul class="remedies">
            {remedies.map((remedy) => (
              <li key={remedy}>{remedy}</li>
            ))}
          </ul>
        </section>
      )}
      <section>
        <h3>Conditions {policy !== undefined && <span class="muted">of policies/{policy}.yaml</span>}</h3>
        {conditions.length === 0 && <p class="muted">{detail.decidedBy}</p>}
        <Conditions conditions={conditions} decidedBy={rule} />
        <Lines of={notes} />
      </section>
      {token !== undefined && (
        <section>
          <h3>Token</h3>
          <Pairs of={membersOf(token)} />
        </section>
      )}
      {answer !== undefined && (
        <section>
          <h3>Answer {answer.status}</h3>
          {answer.challenges.map((challenge) => (
            <pre key={challenge} class="challenge">
              WWW-Authenticate: {challenge}
            </pre>
          ))}
          {answer.challenges.length === 0 && <p class="muted">no challenge: another token would not help</p>}
          {answer.because !== undefined && (
            <p>
              <span class="muted">because</span> <q>{answer.because}</q>
            </p>
          )}
        </section>
      )}
      <section>
        <h3>Record</h3>
        <Pairs
          of={[
            ['reason', reason],
            ['rule', rule],
            ['method', method],
            ['inner tools', inner.length > 0 && inner.join(', ')],
            ['policy', version],
            ['acting agents', actors.length > 0 && actors.join(' < ')],
            ['decided in', `${durationMs} ms`],
            ['request', requestId !== undefined && <Id value={requestId} />],
            ['trace', traceId !== undefined && <Id value={traceId} />],
          ]}
        />
      </section>
      <section class="actions">
        {test !== undefined && <CopyButton text={test} label="Copy as test" />}
        {policy !== undefined && (
          <a
            class="button"
            href={`/policies?policy=${encodeURIComponent(policy)}&decision=${detail.id}`}
            onClick={followLink}
          >
            Open in playground
          </a>
        )}
        <CopyButton text={location.href} label="Copy link" />
        <Similar detail={detail} />
      </section>
    </>
  );
}

function callerOf({ subject, clientId }: DecisionDetail): JSX.Element {
  if (subject === undefined && clientId === undefined) return <>an unknown caller</>;
  const [, workload] = /^workload:(.+)$/.exec(clientId ?? '') ?? [];
  if (workload !== undefined) {
    return (
      <>
        a workload of <b>{workload}</b>, {subject}
      </>
    );
  }
  // RFC 9068 §2.2: the subject of a token without a person is the client itself.
  if (subject === clientId) {
    return (
      <>
        the client <b>{clientId}</b> for itself
      </>
    );
  }
  return (
    <>
      <b>{subject ?? clientId}</b>
      {subject !== undefined && clientId !== undefined && ` by ${clientId}`}
    </>
  );
}

function membersOf({ form, issuer, scope, secondsLeft, claims }: TokenView): readonly Pair[] {
  return [
    ['form', form],
    ['issuer', issuer],
    ['scope', scope || 'none'],
    ['lifetime left', secondsLeft === undefined ? 'unknown' : `${secondsLeft} s`],
    ...Object.entries(claims).map(([name, value]): Pair => [name, JSON.stringify(value)]),
  ];
}

/** Links that filter by a member of the decision. */
function Similar({ detail: { subject, called, reason } }: { readonly detail: DecisionDetail }): JSX.Element {
  const filters = { subject, tool: called, reason };
  return (
    <span class="similar">
      <span class="muted">filter by</span>
      {Object.entries(filters).map(
        ([name, value]) =>
          value !== undefined && (
            <a key={name} href={withQuery({ decision: '', [name]: value }, '/')} onClick={followLink}>
              {name}
            </a>
          ),
      )}
    </span>
  );
}
