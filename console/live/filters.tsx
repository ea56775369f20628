import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { DENIED, type Filter, filterNames } from '../../src/capabilities/console/messages.ts';
import { go, withQuery } from '../address.ts';
import { outcomes } from '../parts/outcome.tsx';
import { useKnown } from '../status.ts';

const TYPING_MS = 250;

/** The filters of Live. They are in the address, so that a view can be shared. */
export function Filters({ filter }: { readonly filter: Filter }): JSX.Element {
  const { status } = useKnown();
  const set = (name: string, value: string): void => go(withQuery({ [name]: value }), true);
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <search class="filters">
      <Choice name="route" filter={filter} set={set} values={status?.routes.map(({ name }) => [name, name]) ?? []} />
      <Choice name="outcome" filter={filter} set={set} values={outcomeChoices} />
      {(['subject', 'client', 'tool', 'reason'] as const).map((name) => (
        <Text key={name} name={name} value={filter[name] ?? ''} set={set} />
      ))}
      <button
        type="button"
        class="button"
        disabled={!isFiltered}
        onClick={() => go(withQuery(Object.fromEntries(filterNames.map((name) => [name, '']))), true)}
      >
        Clear
      </button>
    </search>
  );
}

const outcomeChoices = [...outcomes.map((kind) => [kind, kind] as const), [DENIED, 'all denied'] as const];

interface ChoiceParts {
  readonly name: 'route' | 'outcome';
  readonly filter: Filter;
  readonly values: readonly (readonly [value: string, word: string])[];
  readonly set: (name: string, value: string) => void;
}

function Choice({ name, filter, values, set }: ChoiceParts): JSX.Element {
  return (
    <label class="field">
      <span>{name}</span>
      <select value={filter[name] ?? ''} onChange={(event) => set(name, event.currentTarget.value)}>
        <option value="">all</option>
        {values.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}

interface TextParts {
  readonly name: 'subject' | 'client' | 'tool' | 'reason';
  readonly value: string;
  readonly set: (name: string, value: string) => void;
}

function Text({ name, value, set }: TextParts): JSX.Element {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const typed = useRef(value);
  // What the field itself wrote into the address may be older than what the reader has typed since.
  useEffect(() => {
    if (value === typed.current) return;
    clearTimeout(timer.current);
    typed.current = value;
    setText(value);
  }, [value]);
  const onInput = (next: string): void => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set(name, (typed.current = next.trim())), TYPING_MS);
  };
  return (
    <label class="field">
      <span>{name}</span>
      <input
        type="search"
        value={text}
        spellcheck={false}
        autocomplete="off"
        data-filter={name}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}
