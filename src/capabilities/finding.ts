/** The result of an examination, for one line. */
export interface Finding {
  /** `fail`: something does not work. `warn`: it works, or cannot be known, and an operator should look. */
  readonly status: 'ok' | 'warn' | 'fail';
  /** What was examined, as the configuration names it: `routes.tools.upstream`. */
  readonly subject: string;
  /** What was found. It may hold texts of other parties: printing escapes it. */
  readonly text: string;
  /** What to do, in the imperative; undefined: nothing. */
  readonly remedy: string | undefined;
}

/** Makes the findings on one subject. */
export interface Findings {
  ok(text: string): Finding;
  warn(text: string, remedy: string): Finding;
  fail(text: string, remedy: string): Finding;
}

export function findingsOn(subject: string): Findings {
  return {
    ok: (text) => ({ status: 'ok', subject, text, remedy: undefined }),
    warn: (text, remedy) => ({ status: 'warn', subject, text, remedy }),
    fail: (text, remedy) => ({ status: 'fail', subject, text, remedy }),
  };
}

/** The remedy where a request failed at the proxy of `egress`, or met plain HTTP; `otherwise` for other reasons. */
export function remedyForReason(reason: string, otherwise: string): string {
  const [, refused] = /the proxy \S+ refused CONNECT (\S+) /.exec(reason) ?? [];
  if (refused !== undefined) return `allow ${refused} at the proxy, or name the host in egress.except`;
  if (/the proxy \S+ cannot be reached/.test(reason)) return 'start the proxy, or repair egress.proxy';
  if (!/ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|EPROTO|wrong version number/.test(reason)) {
    return otherwise;
  }
  return 'it answers plain HTTP there: write http://, or let it speak TLS';
}
