import { describe, expect, test } from 'vitest';
import { refuses, route, top } from './edits.ts';
import { base, edited, loaded } from './folder.ts';

const limits = (text: string): string => top(`limits: { ${text} }`);

describe('a rate', () => {
  test('by default limits only failures', async () => {
    const { limits, routes } = await loaded({ yaml: base });
    expect(limits.failures).toEqual({ requests: 100, perMs: 60_000, burst: 100 });
    expect(routes[0]?.rate).toBeUndefined();
  });

  test.each<readonly [title: string, written: string, rate: object | undefined]>([
    ['a rate with a burst', '{ requests: 100, per: 1s, burst: 200 }', { requests: 100, perMs: 1000, burst: 200 }],
    ['a rate without burst: `requests`', '{ requests: 5, per: 1m }', { requests: 5, perMs: 60_000, burst: 5 }],
    ['a burst below `requests`', '{ requests: 9, per: 1h, burst: 1 }', { requests: 9, perMs: 3_600_000, burst: 1 }],
    [
      'a rate from placeholders',
      '{ requests: "${env:N}", per: "${env:PER:-10s}", burst: "${env:N}0" }',
      { requests: 7, perMs: 10_000, burst: 70 },
    ],
    ['off', 'off', undefined],
    ['off by a placeholder', '"${env:OFF}"', undefined],
  ])('reads %s', async (_title, written, rate) => {
    const env = { N: '7', OFF: 'off' };
    const everywhere = await loaded({ yaml: limits(`rate: ${written}, failures: ${written}`), env });
    const ofCallers = rate && { ...rate, by: 'subject' };
    expect(everywhere.routes[0]?.rate).toEqual(ofCallers);
    expect(everywhere.limits.failures).toEqual(rate);
    const here = await loaded({ yaml: edited(route(`rate: ${written}`)), env });
    expect(here.routes[0]?.rate).toEqual(ofCallers);
  });

  test('reads whose calls a rate of callers counts', async () => {
    const { routes } = await loaded({ yaml: edited(route('rate: { requests: 1, per: 1s, by: actor }')) });
    expect(routes[0]?.rate?.by).toBe('actor');
  });

  test('the rate of a route takes precedence over limits.rate', async () => {
    const yaml = `${edited(route('rate: off'))}limits: { rate: { requests: 1, per: 1s } }\n`;
    const other = `  - { name: b, path: /b, public: true, upstream: { url: http://x } }\n`;
    const { routes } = await loaded({ yaml: yaml.replace('limits:', `${other}limits:`) });
    expect(routes.map(({ rate }) => rate?.requests)).toEqual([undefined, 1]);
  });
});

describe('limits', () => {
  refuses(`
top limits: { rate:  } → :13:18: limits.rate: expected a rate such as { requests: 100, per: 1s }, or off, found nothing
top limits: { rate: 100 } → :13:17: limits.rate: expected a rate such as { requests: 100, per: 1s }, or off, found 100
top limits: { failures: none }
  :13:21: limits.failures: "none" is neither off nor a rate such as { requests: 100, per: 1s }
top limits: { failures: "\${env:SECRET}" }
  :13:21: limits.failures: "\${env:SECRET}" is neither off nor a rate such as { requests: 100, per: 1s }
top limits: { rate: {} }
  :13:17: limits.rate: missing key: requests
  :13:17: limits.rate: missing key: per
top limits: { rate: { requests: 1 } } → :13:17: limits.rate: missing key: per
top limits: { rate: { requests: 1, per: 1s, bursts: 2 } }
  :13:41: limits.rate.bursts: unknown key (did you mean burst?); accepted: …
top limits: { rate: { requests: 1, per: 1s, by: tenant } }
  :13:45: limits.rate.by: "tenant" is not one of subject, client, actor
top limits: { failures: { requests: 1, per: 1s, by: client } }
  :13:45: limits.failures.by: unknown key; accepted: …
top limits: { rate: { requests: 0, per: 1s } }
  :13:29: limits.rate.requests: expected a whole number from 1 to 1000000, found 0
top limits: { rate: { requests: 0.5, per: 1s } }
  :13:29: limits.rate.requests: expected a whole number from 1 to 1000000, found 0.5
top limits: { rate: { requests: 1000001, per: 1s } }
  :13:29: limits.rate.requests: expected a whole number from 1 to 1000000, found 1000001
top limits: { rate: { requests: "5", per: 1s } }
  :13:29: limits.rate.requests: "5" is not a whole number from 1 to 1000000
top limits: { rate: { requests: "\${env:N:-0}", per: 1s } }
  :13:29: limits.rate.requests: "\${env:N:-…}" (its default) is not a whole number from 1 to 1000000
top limits: { rate: { requests: 1, per: 0s } } → :13:37: limits.rate.per: "0s" is too short: at least 1ms
top limits: { rate: { requests: 1, per: 25h } } → :13:37: limits.rate.per: "25h" is too long: at most 24h
route rate: { requests: 1, per: 1s, burst: 0 }
  :11:42: routes[0].rate.burst: expected a whole number from 1 to 1000000, found 0
`);
});
