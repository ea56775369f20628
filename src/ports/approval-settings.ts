import { Slot } from '../core/model/slot.ts';
import type { Endpoint } from '../core/model/endpoint.ts';

/** `approvals` of gateway.yaml: the API of approvals, which the page of the front door calls. */
export interface ApprovalSettings {
  /** The URL of the API, `public_url` and `path`. */
  readonly url: string;
  /** The same where the front door reaches it. */
  readonly backchannel: string;
  /** The API: whose tokens it accepts. */
  readonly route: Endpoint;
  readonly notify: { readonly url: string; readonly secret: string } | undefined;
}

/** `approvals`; undefined: no call can be approved. */
export const approvalSettings = new Slot<ApprovalSettings>();
