import { autocompletion, closeBrackets, completionKeymap, insertBracket } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { DraftProblem } from '../../src/capabilities/console/messages.ts';
import { completePolicy } from './completion.ts';

/** The editor of a draft. */
export interface Editor {
  /** Shows problems at their lines. */
  show(problems: readonly DraftProblem[]): void;
  close(): void;
}

const theme = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--surface)' },
  '.cm-scroller': { fontFamily: 'var(--mono)', fontSize: '13px', lineHeight: '20px', overflow: 'auto' },
  '&.cm-focused': { outline: 'none' },
  // Above the gutters, which would cover an outline of the editor itself.
  '&.cm-focused::after': {
    content: '""',
    position: 'absolute',
    inset: '0',
    zIndex: '300',
    border: '2px solid var(--accent)',
    pointerEvents: 'none',
  },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--muted)', border: 'none' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': { backgroundColor: 'var(--hover) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--ink)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-completionInfo': { maxWidth: '320px', padding: '8px' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--refused)' },
  // The marks of CodeMirror are data: images, which the content security policy refuses.
  '.cm-lint-marker-error': { content: 'normal', color: 'var(--refused)', lineHeight: '20px' },
  '.cm-lint-marker-error::before': { content: '"✕"' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--refused)' },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.attributeValue], color: 'var(--allowed)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--muted)' },
  { tag: [tags.keyword, tags.bool, tags.number], color: 'var(--shadow)' },
]);

/**
 * Replaces selected text by what is typed. Chromium would do it with an inline style, to keep the colour of the text that
 * it replaces, and the content security policy refuses that.
 */
const replaceSelection = EditorView.domEventHandlers({
  beforeinput({ inputType, data, isComposing }, view) {
    const { state } = view;
    if (inputType !== 'insertText' || data === null || isComposing || state.selection.main.empty) return false;
    view.dispatch(
      insertBracket(state, data) ??
        state.update(state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true }),
    );
    return true;
  },
});

/**
 * Opens the editor in a shadow root of `place`: there its styles are sheets of the document's own making, which the
 * content security policy allows, unlike elements with style.
 */
export function openEditor(place: HTMLElement, text: string, onChange: (text: string) => void): Editor {
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        closeBrackets(),
        replaceSelection,
        autocompletion({ override: [completePolicy] }),
        yaml(),
        theme,
        syntaxHighlighting(colours),
        // Tab moves the focus on, as everywhere on the page.
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        EditorView.contentAttributes.of({ 'aria-label': 'Policy draft', spellcheck: 'false' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  let isMarked = false;
  return {
    show(problems) {
      // Each update forgets a selection of the document that the editor has not read yet, such as one by touch.
      if (!isMarked && problems.length === 0) return;
      isMarked = problems.length > 0;
      const diagnostics = problems.map((each) => diagnosticOf(each, view.state));
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    close: () => view.destroy(),
  };
}

function diagnosticOf({ line, column, message }: DraftProblem, { doc }: EditorState): Diagnostic {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return { from: Math.min(at.from + column - 1, at.to), to: at.to, severity: 'error', message };
}
