import type { GatewayKeys } from '../../schema/validators.js';
import { type Field, Report } from '../../src/core/config/field.ts';
import { parseYaml } from '../../src/core/config/yaml-file.ts';

/** The root of a `gateway.yaml` in `/etc/sallyport`, whatever it lacks, and the problems that reading it has found. */
export function openedConfig(text: string): {
  readonly root: Field<GatewayKeys>;
  readonly problems: () => readonly string[];
} {
  const document = parseYaml('/etc/sallyport/gateway.yaml', text);
  const report = new Report(document);
  const root = report.root<GatewayKeys>(document.value, document.value);
  return { root, problems: () => report.problems().map(String) };
}
