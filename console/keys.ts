import { useEffect } from 'preact/hooks';

/** Calls an action for a key, unless the reader types into a field; Escape works there too. */
export function useKeys(actions: Readonly<Record<string, () => unknown>>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const { target } = event;
      const isTyping =
        target instanceof HTMLElement &&
        (target.matches('input, textarea, select') || target.closest('.editor') !== null);
      if (isTyping && event.key === 'Escape') return target.blur();
      const action = isTyping ? undefined : actions[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}
