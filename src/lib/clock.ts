/** Milliseconds since the Unix epoch. Passed in wherever time decides something, so that tests can set it. */
export type Clock = () => number;
