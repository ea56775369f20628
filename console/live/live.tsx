import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { filterIn } from '../../src/capabilities/console/messages.ts';
import { type Address, go, withQuery } from '../address.ts';
import { DecisionPanel } from '../decision/decision.tsx';
import { useKeys } from '../keys.ts';
import { useKnown } from '../status.ts';
import { type Shown, useFeed } from './feed.ts';
import { Filters } from './filters.tsx';
import { Plots } from './plots.tsx';
import { DecisionTable } from './table.tsx';

/** How many rows are rendered; more on request. */
const PAGE = 100;

/** Decisions as they are made. */
export function Live({ address: { query } }: { readonly address: Address }): JSX.Element {
  const filter = filterIn(query);
  const isFiltered = Object.keys(filter).length > 0;
  const opened = query.get('decision') ?? undefined;
  const [isPaused, setIsPaused] = useState(false);
  const [isReading, setIsReading] = useState(false);
  const [limit, setLimit] = useState(PAGE);
  const shown = useFeed(filter, isPaused || isReading);
  const rows = shown.rows.slice(0, limit);
  const close = (): void => go(withQuery({ decision: '' }));

  useEffect(() => {
    setLimit(PAGE);
    setIsReading(false);
  }, [query.toString()]);
  const last = useRef('');
  useEffect(() => {
    if (opened === undefined && last.current !== '') focusDecision(last.current);
    last.current = opened ?? '';
  }, [opened]);
  useKeys({
    p: () => setIsPaused((is) => !is),
    '/': () => document.querySelector<HTMLInputElement>('[data-filter=subject]')?.focus(),
    j: () => focusRow(1),
    k: () => focusRow(-1),
    Escape: () => opened !== undefined && close(),
  });

  return (
    <div class={opened === undefined ? 'live' : 'live with-panel'}>
      <div class="list">
        <Filters filter={filter} />
        <Plots />
        <div class="bar">
          <button type="button" class="button" aria-pressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
            {isPaused ? 'Resume' : 'Pause'}
          </button>
          <Summary shown={shown} isFiltered={isFiltered} />
        </div>
        {rows.length > 0 ? (
          <DecisionTable rows={rows} selected={opened} isBusy={shown.leftOutPerSecond > 0} onReading={setIsReading} />
        ) : (
          <Nothing shown={shown} isFiltered={isFiltered} />
        )}
        {shown.rows.length > limit && (
          <button type="button" class="button more" onClick={() => setLimit(limit + PAGE)}>
            Show {Math.min(PAGE, shown.rows.length - limit)} more
          </button>
        )}
      </div>
      {opened !== undefined && <DecisionPanel key={opened} id={opened} onClose={close} />}
    </div>
  );
}

interface SummaryParts {
  readonly shown: Shown;
  readonly isFiltered: boolean;
}

function Summary({ shown, isFiltered }: SummaryParts): JSX.Element {
  const { past, leftOutPerSecond, isRefused, waiting } = shown;
  const { connection } = useKnown();
  const selected = past !== undefined && isFiltered ? `${past.selected.toLocaleString()} of ` : '';
  const count =
    past === undefined ? '' : `${selected}${past.kept.toLocaleString()} ${past.kept === 1 ? 'decision' : 'decisions'}`;
  return (
    <p class="summary" role="status">
      {isRefused && connection === 'connected' && (
        <span class="notice">New decisions do not arrive: too many pages watch. Retrying.</span>
      )}
      {leftOutPerSecond > 0 && (
        <span class="notice">
          {leftOutPerSecond.toLocaleString()}/s left out: showing refusals and a part of the allowed calls
        </span>
      )}
      <span class="muted">{waiting > 0 ? `${waiting.toLocaleString()} new · ${count}` : count}</span>
    </p>
  );
}

/** What is said in the place of a table: loading, nothing yet, or nothing that the filter selects. */
function Nothing({ shown, isFiltered }: { readonly shown: Shown; readonly isFiltered: boolean }): JSX.Element {
  const { status, connection } = useKnown();
  if (shown.past === undefined) {
    return <p class="empty">{connection === 'disconnected' ? 'The gateway does not answer.' : 'Loading…'}</p>;
  }
  if (isFiltered) return <p class="empty">No kept decision has all of this. Clear a filter to see more.</p>;
  const url = status?.routes[0]?.url;
  return (
    <div class="empty">
      <p>No decision yet.{url !== undefined && ' Try:'}</p>
      {url !== undefined && <pre>curl -i {url}</pre>}
    </div>
  );
}

/** Moves the focus to the next or the previous row. */
function focusRow(step: number): void {
  const links = [...document.querySelectorAll<HTMLElement>('[data-decision]')];
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[Math.min(Math.max(at + step, 0), links.length - 1)]?.focus();
}

/** Returns the focus to a decision that was open, or to the newest one if it is no longer shown. */
function focusDecision(id: string): void {
  const links = [...document.querySelectorAll<HTMLElement>('[data-decision]')];
  (links.find(({ dataset }) => dataset['decision'] === id) ?? links[0])?.focus();
}
