import { request } from 'node:http';
import type { Command } from 'commander';
import { readConfig } from '../settings/config';
import { describeListen, type Listen } from '../process/listen';
import { OperatorError } from '../licensing/operator-error';
import { createOutput } from './command';

/** The maximum time of a health check: a supervisor that waits longer considers the service hung. */
const TIMEOUT_MS = 4_000;

export function addHealthCommand(program: Command): void {
  program
    .command('health')
    .summary('ask the running service whether it can do its work')
    .description(
      'Asks the service at LICENSING_ADMIN_LISTEN whether it is ready, for the HEALTHCHECK of a container and for supervisors. ' +
        'The exit code is 0 if it is ready, 1 if it is not or does not answer within 4 seconds, and 2 for a usage error.',
    )
    .addHelpText('after', '\nExample:\n  licensing health')
    .action(async (_options: object, command: Command) => {
      const { adminListen } = readConfig();
      if (adminListen === undefined || 'passenger' in adminListen)
        throw new OperatorError(
          'Under Passenger, the service has no address of its own that could be asked. Check it through the site: licensing doctor --url https://YOUR.SITE',
          { code: 'SERVICE_UNAVAILABLE' },
        );
      const { ready, checks } = await askReadiness(adminListen);
      createOutput(command).print({ ready, checks }, () =>
        Object.entries(checks)
          .map(([name, state]) => `${name}: ${state}`)
          .join('\n'),
      );
      if (!ready) throw new OperatorError('The service is not ready.', { code: 'SERVICE_UNAVAILABLE' });
    });
}

interface Answer {
  ready: boolean;
  /** the state of each part: `ok`, or a description of the problem */
  checks: Record<string, string>;
}

/** Returns the answer of `/readyz`. @throws OperatorError if no answer arrives in time */
export function askReadiness(
  listen: Exclude<Listen, { passenger: true }>,
  patience = TIMEOUT_MS,
): Promise<Answer> {
  const where = describeListen(listen);
  const to =
    'path' in listen ? { socketPath: listen.path } : { host: connectable(listen.host), port: listen.port };
  return new Promise((resolve, reject) => {
    const fail = (fault: string) =>
      reject(new OperatorError(`The service at ${where} ${fault}.`, { code: 'SERVICE_UNAVAILABLE' }));
    const signal = AbortSignal.timeout(patience);
    request({ ...to, path: '/readyz', agent: false, signal }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', () => fail('did not finish its answer'));
      response.once('end', () => {
        const answer = readAnswer(Buffer.concat(chunks).toString());
        if (answer === undefined) fail('is another program: it does not answer like this service');
        else resolve(answer);
      });
    })
      .once('error', ({ code }: NodeJS.ErrnoException) =>
        fail(
          signal.aborted
            ? `does not answer within ${patience / 1000} s`
            : `does not answer (${code ?? 'unknown error'})`,
        ),
      )
      .end();
  });
}

function readAnswer(text: string): Answer | undefined {
  try {
    const value = JSON.parse(text) as Partial<Answer> | null;
    return typeof value?.ready === 'boolean' && typeof value.checks === 'object'
      ? { ready: value.ready, checks: value.checks }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns an address to connect to, because an address to listen on may mean all addresses of the machine. */
function connectable(host: string): string {
  return host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
}
