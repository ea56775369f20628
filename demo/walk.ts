/**
 * Walks the whole authorization life cycle against a running gateway, as its clients and their users would: with the
 * official MCP client and a browser that reads the real pages.
 *
 * @module
 */
import { walkApi } from './walk/api.ts';
import { signInSupervisor, walkApproval } from './walk/approval.ts';
import { findDeployment } from './walk/deployment.ts';
import { walkExpiry } from './walk/expiry.ts';
import { walkFrontDoor } from './walk/front-door.ts';
import { stepUp, walkLifecycle } from './walk/lifecycle.ts';
import { createReport, StepFailed } from './walk/report.ts';
import { walkRevocation } from './walk/revocation.ts';

/** The deployment to walk, and the output. */
export interface WalkOptions {
  /** The gateway's public URL, without a trailing slash. */
  readonly gatewayUrl: string;
  /** The company's provider behind the front door; undefined: the demo has none. */
  readonly companyUrl?: string | undefined;
  /** Gets one line at a time. Default: stdout. */
  readonly print?: (line: string) => void;
}

/** Walks, prints one line for each step, and returns whether every step passed. */
export async function runWalk({ gatewayUrl, companyUrl, print = console.log }: WalkOptions): Promise<boolean> {
  const deployment = await findDeployment(gatewayUrl);
  const report = createReport(print);

  const stage = async (title: string, walk: () => Promise<void>): Promise<void> => {
    report.stage(title);
    try {
      await walk();
    } catch (error) {
      if (!(error instanceof StepFailed)) throw error;
    }
  };

  if (companyUrl === undefined) {
    await stage('The life cycle of an MCP client: authorization, step-up, approval, expiry, renewal', async () => {
      const session = await walkLifecycle(report, deployment);
      const supervisorToken = await signInSupervisor(report, deployment);
      await stepUp(report, deployment, session);
      await walkApproval(report, session, supervisorToken);
      await walkExpiry(report, deployment, session);
      await session.agent.close();
    });
    await stage('The demo API: validation, scope, claims', () => walkApi(report, deployment));
    await stage('Revocation: rights end before the token does', () => walkRevocation(report, deployment));
  } else {
    await stage("The front door: people sign in at their company's provider, which knows nothing of MCP", () =>
      walkFrontDoor(report, deployment, companyUrl),
    );
  }

  print('');
  print(
    report.failed === 0 ? `All ${report.passed} steps passed.` : `${report.failed} failed, ${report.passed} passed.`,
  );
  return report.failed === 0;
}
