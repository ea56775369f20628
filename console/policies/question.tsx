import type { JSX } from 'preact';
import { describedKinds } from '../../src/core/model/mcp.ts';
import type { DraftQuestion, PolicyView } from '../../src/capabilities/console/messages.ts';

/** What a call of an MCP route is described by. */
const messageKinds = describedKinds.filter((kind) => kind !== 'request');

interface QuestionParts {
  readonly question: DraftQuestion;
  readonly protocol: 'http' | 'mcp';
  readonly routes: PolicyView['routes'];
  readonly route: string | undefined;
  readonly onRoute: (route: string) => void;
  readonly onChange: (question: DraftQuestion) => void;
}

/** A caller and a call, as the reader describes them. */
export function Question({ question, protocol, routes, route, onRoute, onChange }: QuestionParts): JSX.Element {
  const set = (name: keyof DraftQuestion) => (event: { readonly currentTarget: { readonly value: string } }) =>
    onChange({ ...question, [name]: event.currentTarget.value });
  return (
    <form class="question" aria-label="A call to decide" onSubmit={(event) => event.preventDefault()}>
      {routes.length > 1 && (
        <label>
          <span>route</span>
          <select value={route} onChange={(event) => onRoute(event.currentTarget.value)}>
            {routes.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      <label>
        <span>scope</span>
        <input value={question.scope} placeholder="read payments" spellcheck={false} onInput={set('scope')} />
      </label>
      <Lines label="claims" value={question.claims} placeholder='{"role":"trader"}' onInput={set('claims')} />
      <label>
        <span>lifetime, s</span>
        <input value={question.lifetime} inputMode="numeric" placeholder="unknown" onInput={set('lifetime')} />
      </label>
      {protocol === 'http' && (
        <label>
          <span>request</span>
          <input value={question.name} placeholder="GET /orders" spellcheck={false} onInput={set('name')} />
        </label>
      )}
      {protocol === 'mcp' && (
        <>
          <div class="pair">
            <label class="kind-of-call">
              <span>calls</span>
              <select aria-label="kind of call" value={question.kind} onChange={set('kind')}>
                {[...messageKinds, 'method'].map((kind) => (
                  <option key={kind}>{kind}</option>
                ))}
              </select>
            </label>
            <input
              aria-label="name"
              value={question.name}
              placeholder="transfer_funds"
              spellcheck={false}
              onInput={set('name')}
            />
          </div>
          <Lines label="arguments" value={question.arguments} placeholder="unknown" onInput={set('arguments')} />
        </>
      )}
      <Lines
        label="calls before"
        value={question.history}
        placeholder={protocol === 'mcp' ? '- { tool: approve, ago: 10m }' : '- { request: GET /orders, ago: 10m }'}
        onInput={set('history')}
      />
    </form>
  );
}

interface LinesParts {
  readonly label: string;
  readonly value: string;
  readonly placeholder: string;
  readonly onInput: (event: { readonly currentTarget: HTMLTextAreaElement }) => void;
}

/** A field for JSON or YAML. */
function Lines({ label, value, placeholder, onInput }: LinesParts): JSX.Element {
  return (
    <label>
      <span>{label}</span>
      <textarea rows={2} value={value} placeholder={placeholder} spellcheck={false} onInput={onInput} />
    </label>
  );
}
