import type { JSX } from 'preact';

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
});
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

/** The time of day of a moment. */
export function timeOfDay(at: number): string {
  return clock.format(at);
}

/** How long ago a moment is: `12 s`, `4 min`, `3 h`, `2 d`. */
export function ago(at: number, now = Date.now()): string {
  const seconds = Math.max(Math.round((now - at) / 1000), 0);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return seconds < 86_400 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** A moment, with its exact time on hover. */
export function Time({ at, relative = false }: { readonly at: number; readonly relative?: boolean }): JSX.Element {
  return (
    <time dateTime={new Date(at).toISOString()} title={exact.format(at)}>
      {relative ? `${ago(at)} ago` : timeOfDay(at)}
    </time>
  );
}

/** A moment with its day, and how long ago it is. */
export function WholeTime({ at }: { readonly at: number }): JSX.Element {
  return (
    <>
      {day.format(at)}, <Time at={at} />, <Time at={at} relative />
    </>
  );
}
