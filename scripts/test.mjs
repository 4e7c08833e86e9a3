import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { text } from 'node:stream/consumers';

/**
 * `npm test`: runs the checks at the same time as the tests, which wait for their servers half of the time. The checks'
 * output comes before the tests' closing line, and only if they fail.
 */

const check = spawn('npm', ['run', '--silent', 'check'], { stdio: ['ignore', 'pipe', 'pipe'] });
setPriority(check.pid, constants.priority.PRIORITY_LOW);
const said = Promise.all([text(check.stdout), text(check.stderr)]);
const checked = once(check, 'close');

const jest = spawn('jest', process.argv.slice(2), { stdio: 'inherit' });
const [failed] = await once(jest, 'close');
const [wrong] = await checked;
if (wrong !== 0) process.stderr.write(`\n${(await said).join('')}\nnpm run check failed.\n`);
process.exitCode = failed === 0 && wrong === 0 ? 0 : 1;
