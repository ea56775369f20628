/** A text as one word of a POSIX shell, bash, zsh or fish, in single quotes. */
export function quotedWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A text as one word of a shell, quoted only if the shell would read it otherwise. */
export function shellWord(text: string): string {
  return /^[\w./@:-]+$/.test(text) ? text : quotedWord(text);
}
