import * as fc from 'fast-check';
import { expect } from 'vitest';
import { withoutQuery } from '../../../src/lib/http/without-query.ts';
import { runs } from '../../support/runs.ts';
import { property } from '../../support/property.ts';

property(
  'of any URL the query is not shown, and the rest is',
  [fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.stringMatching(/^[A-Z]{8}$/)],
  (url, key) => {
    const { origin, pathname } = new URL(url);
    expect(withoutQuery(`${origin}${pathname}?key=${key}\n${key}`)).toBe(`${origin}${pathname}?…`);
  },
  { numRuns: runs },
);
