/** The store gave no answer, or one that says that it cannot serve. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

/** Answers by which a server says that it serves nobody, or not us; others, NOPERM too, are about one command alone. */
const cannotServe = /^(?:READONLY|OOM|MISCONF|LOADING|MASTERDOWN|NOREPLICAS|NOAUTH|WRONGPASS|BUSY|CLUSTERDOWN)\b/;

/** Whether an answer says that the server will not do, until it takes a write again. */
export function saysUnfit(error: unknown): boolean {
  return error instanceof Error && cannotServe.test(error.message);
}

/** One short line without the password, which a server could repeat. */
export function withoutSecrets(error: unknown, url: string): string {
  const { password } = new URL(url);
  let text = error instanceof Error ? error.message || error.name : String(error);
  for (const secret of [password, decodeURIComponent(password)]) {
    if (secret !== '') text = text.replaceAll(secret, '…');
  }
  return text.slice(0, 200);
}
