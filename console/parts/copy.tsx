import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

/** Copies a text. Away from loopback and without TLS, browsers refuse the clipboard: the text is selected instead. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    return isCopied;
  }
}

/** A button that copies a text. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }): JSX.Element {
  const [word, setWord] = useState(label);
  const onClick = async (): Promise<void> => {
    setWord((await copy(text)) ? 'Copied' : 'Not copied');
    setTimeout(() => setWord(label), 1500);
  };
  return (
    <button type="button" class="button" aria-live="polite" onClick={() => void onClick()}>
      {word}
    </button>
  );
}

/** An id, shortened in its place and copied whole. */
export function Id({ value }: { readonly value: string }): JSX.Element {
  const [isCopied, setIsCopied] = useState(false);
  const onClick = async (): Promise<void> => {
    setIsCopied(await copy(value));
    setTimeout(() => setIsCopied(false), 1500);
  };
  return (
    <button type="button" class="id" title={`${value}: copy`} onClick={() => void onClick()}>
      {isCopied ? 'copied' : `${value.slice(0, 8)}…`}
    </button>
  );
}
