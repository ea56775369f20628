import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** What axe-core finds on a page, a line for each element: WCAG 2.2 at level AA, and its best practices. */
export async function findings(page: Page): Promise<readonly string[]> {
  // Not as a script of the page, which its content security policy would refuse.
  await page.evaluate(axe.source);
  const results = await page.evaluate<AxeResults>('axe.run()');
  return results.violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id}: ${help}: ${target.join(' ')}: ${failureSummary}`),
  );
}
