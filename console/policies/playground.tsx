import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  type DecisionDetail,
  type DraftAnswer,
  type DraftQuestion,
  endpoints,
  type PolicyView,
} from '../../src/capabilities/console/messages.ts';
import { describedKinds, listedKinds } from '../../src/core/model/mcp.ts';
import { followLink, go } from '../address.ts';
import { useKeys } from '../keys.ts';
import { CopyButton } from '../parts/copy.tsx';
import { read, Refused, tryDraft } from '../requests.ts';
import { Answer } from './answer.tsx';
import { Counters } from './counters.tsx';
import { unifiedDiff } from './diff.ts';
import type { Editor } from './editor.ts';
import { Question } from './question.tsx';

/** The pause after the last key before a draft is tried, and before the kept decisions are decided again. */
const TRY_MS = 150;
const REPLAY_MS = 900;

const nothingAsked: DraftQuestion = {
  claims: '',
  scope: '',
  lifetime: '',
  kind: 'tool',
  name: '',
  arguments: '',
  history: '',
};

type PlaygroundParts = Readonly<{ policy: PolicyView; decision: string | undefined }>;

/** A draft of a policy, a question, and what the draft means. Nothing is saved. */
export function Playground({ policy, decision }: PlaygroundParts): JSX.Element {
  const [text, setText] = useState(policy.text);
  const [question, setQuestion] = useState(nothingAsked);
  const [route, setRoute] = useState(policy.routes[0]?.name);
  const { answer, problem } = useDraft({ policy: policy.name, text, route, question });
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  const title = useRef<HTMLHeadingElement>(null);
  const isChanged = text !== policy.text;
  // A draft is nowhere else: a key pressed by mistake must not lose it.
  useKeys({ Escape: () => !isChanged && go('/policies') });
  useEffect(() => title.current?.focus(), []);

  useEffect(() => {
    let isOver = false;
    const open = async (): Promise<void> => {
      const { openEditor } = await import('./editor.ts');
      if (!isOver && place.current !== null) editor.current = openEditor(place.current, policy.text, setText);
    };
    void open();
    return () => {
      isOver = true;
      editor.current?.close();
    };
  }, []);
  useEffect(() => editor.current?.show(answer?.problems ?? []), [answer]);
  useEffect(() => {
    if (decision === undefined) return;
    const ask = async (): Promise<void> => {
      const detail = await read(endpoints.decision, new URLSearchParams({ id: decision }));
      setQuestion(questionOf(detail));
      setRoute(detail.route);
    };
    ask().catch(noop);
  }, [decision]);

  const protocol = policy.routes.find(({ name }) => name === route)?.protocol ?? policy.routes[0]?.protocol ?? 'mcp';
  return (
    <div class="playground">
      <div class="play-bar">
        <a href="/policies" onClick={followLink}>
          Policies
        </a>
        <h2 tabIndex={-1} ref={title}>
          {policy.name}
        </h2>
        <span class="muted">
          {isChanged ? 'a draft: nothing is saved' : 'as in force: edit it to see what changes'}
        </span>
        <span class="play-actions">
          <CopyButton text={unifiedDiff(`policies/${policy.name}.yaml`, policy.text, text)} label="Copy diff" />
          <a
            class="button"
            href={`data:text/yaml;charset=utf-8,${encodeURIComponent(text)}`}
            download={`${policy.name}.yaml`}
          >
            Download
          </a>
        </span>
      </div>
      <div class="draft">
        <div class="editor" ref={place}>
          <pre class="muted">{policy.text}</pre>
        </div>
        <Problems answer={answer} problem={problem} />
      </div>
      <div class="asked-answered">
        <Question
          question={question}
          protocol={protocol}
          routes={policy.routes}
          route={route}
          onRoute={setRoute}
          onChange={setQuestion}
        />
        {protocol === 'mcp' && question.name.trim() === '' ? (
          <p class="empty">Describe a call, and the decision on it appears here.</p>
        ) : (
          <Answer answer={answer?.answer} isBroken={(answer?.problems.length ?? 0) > 0} />
        )}
      </div>
      <Counters answer={answer} isChanged={isChanged} />
    </div>
  );
}

function noop(): void {}

type ProblemsParts = Readonly<{ answer: DraftAnswer | undefined; problem: string }>;

function Problems({ answer, problem }: ProblemsParts): JSX.Element | null {
  const problems = answer?.problems ?? [];
  if (problem === '' && problems.length === 0) return null;
  return (
    <ul class="problems" role="alert">
      {problem !== '' && <li>{problem}</li>}
      {problems.map(({ line, column, message }) => (
        <li key={`${line}:${column}:${message}`}>
          <span class="mono">
            {line}:{column}
          </span>{' '}
          {message}
        </li>
      ))}
    </ul>
  );
}

interface Tried {
  readonly policy: string;
  readonly text: string;
  readonly route: string | undefined;
  readonly question: DraftQuestion;
}

/** Tries a draft shortly after each change; decides the kept decisions again when the reader pauses. */
function useDraft(tried: Tried): { readonly answer: DraftAnswer | undefined; readonly problem: string } {
  const [answer, setAnswer] = useState<DraftAnswer>();
  const [problem, setProblem] = useState('');
  useEffect(() => {
    const abort = new AbortController();
    const ask = async (isThorough: boolean): Promise<void> => {
      try {
        const next = await tryDraft({ ...tried, isThorough }, abort.signal);
        setProblem('');
        // What takes longer stays as it was until it is there again. A draft with a problem has none of it.
        setAnswer((before) =>
          next.problems.length > 0
            ? next
            : {
                ...(before?.replay && { replay: before.replay }),
                ...(before?.meaning && { meaning: before.meaning }),
                ...(before?.properties && { properties: before.properties }),
                ...next,
              },
        );
      } catch (error) {
        if (abort.signal.aborted) return;
        setProblem(error instanceof Refused ? error.message : 'The gateway does not answer.');
      }
    };
    const timers = [setTimeout(() => void ask(false), TRY_MS), setTimeout(() => void ask(true), REPLAY_MS)];
    return () => {
      abort.abort();
      for (const timer of timers) clearTimeout(timer);
    };
  }, [tried.text, tried.route, JSON.stringify(tried.question)]);
  return { answer, problem };
}

/** The question that a kept decision answers. Neither its arguments nor the calls before it are kept. */
function questionOf({ token, method, called }: DecisionDetail): DraftQuestion {
  return {
    ...nothingAsked,
    claims: JSON.stringify(token?.claims ?? {}),
    scope: token?.scope ?? '',
    lifetime: token?.lifetime?.toString() ?? '',
    kind: describedKinds.find((kind) => kind !== 'request' && listedKinds[kind].usedBy === method) ?? 'method',
    name: called,
  };
}
