import type { Scenario } from '../bench.ts';
import { besideStreams } from './beside-streams.ts';
import { firstSight } from './first-sight.ts';
import { latency } from './latency.ts';
import { connect, get, list, opaque, post, postModern } from './requests.ts';
import { keptRevocations, revokedStreams } from './revocation.ts';
import { overhead } from './overhead.ts';
import { size } from './size.ts';
import { start } from './start.ts';
import { streams } from './streams.ts';
import { strict } from './strict.ts';
import { workers } from './workers.ts';

/** All scenarios, in the order of a whole run. */
export const scenarios: readonly Scenario[] = [
  get,
  connect,
  post,
  postModern,
  list,
  opaque,
  strict,
  firstSight,
  latency,
  overhead,
  size,
  streams,
  besideStreams,
  revokedStreams,
  keptRevocations,
  workers,
  start,
];
