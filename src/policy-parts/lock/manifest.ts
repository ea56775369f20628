import type { PolicyFault } from '../../core/policy/document.ts';
import type { PartManifest } from '../part-manifest.ts';

/** Definitions of tools that were approved: what the gateway does with others. It affects no decision of the policy. */
export const lock: PartManifest = {
  keys: [],
  ofMcp: ['lock'],
  faultsIn({ mode, lock: found, calls, requests }) {
    const faults: PolicyFault[] = [];
    if (calls !== undefined && found !== 'deny') {
      const message = 'needs lock: deny: calls are judged by the schemas that were approved';
      faults.push({ path: ['calls'], message });
    }
    if (mode === 'shadow' && found === 'deny') {
      const message = 'deny contradicts mode: shadow, which refuses nothing; write report';
      faults.push({ path: ['lock'], message });
    }
    if (found !== undefined && requests !== undefined) {
      const message = 'cannot be combined with lock, which is for MCP routes: requests are those of HTTP routes';
      faults.push({ path: ['requests'], message });
    }
    return faults;
  },
};
