import { describe } from 'vitest';
import { refuses } from '../../serve/config/edits.ts';

describe('placeholders', () => {
  refuses(`
top listen: \${env:L} → :13:9: listen: the environment variable L is not set
top listen: \${env:EMPTY} → :13:9: listen: the environment variable EMPTY is empty
top listen: \${env:L:-} → :13:9: listen: must not be empty
top listen: \${env:SECRET} → :13:9: listen: "\${env:SECRET}" is not an address such as 127.0.0.1:8080
top listen: \${env:L:-hunter2} → :13:9: listen: "\${env:L:-…}" (its default) is not an address such as 127.0.0.1:8080
top listen: \${vault:L} → :13:9: listen: a malformed placeholder; write \${env:NAME}, \${env:NAME:-default} or \${file:PATH}
top listen: \${env:L → :13:9: listen: a malformed placeholder; write \${env:NAME}, \${env:NAME:-default} or \${file:PATH}
top listen: \${env:} → :13:9: listen: a malformed placeholder; write \${env:NAME}, \${env:NAME:-default} or \${file:PATH}
top listen: \${env:L:-\${env:M}}
  :13:9: listen: a malformed placeholder; write \${env:NAME}, \${env:NAME:-default} or \${file:PATH}
top listen: \${file:nope} → :13:9: listen: \${file:nope} does not exist
top listen: \${file:.} → :13:9: listen: \${file:.} is not a file
top listen: \${file:empty} → :13:9: listen: \${file:empty} is empty
top policies: \${env:SECRET} → :13:11: policies: "\${env:SECRET}" is not a folder
route policy: "\${env:SECRET}"
  :11:13: routes[0].policy: policies/\${env:SECRET}.yaml does not exist; policies has no policy
`);
});
