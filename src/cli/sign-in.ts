import { InvalidArgumentError, type Command } from 'commander';
import { formatTimestamp } from '../base/days';
import { createCode, OPERATOR_CODE_TTL_MS } from '../access/one-time-codes';
import { API_PATH } from '../licensing/api';
import { readPublicUrl, type Config } from '../settings/config';
import { OperatorError } from '../licensing/operator-error';
import { oneOf } from './arguments';
import { withSession } from './command';

export const SIGN_IN_SCOPES = ['read', 'write'] as const;
export type SignInScope = (typeof SIGN_IN_SCOPES)[number];

export function addSignInCommand(program: Command): void {
  program
    .command('sign-in')
    .description("Prints a link to the operator's pages. It works once, within ten minutes.")
    .option(
      '--base-url <url>',
      "the site's address, such as https://shop.example; default: LICENSING_PUBLIC_URL",
      siteAddress,
    )
    .option(
      '--scope <scope>',
      'what the session may do. read: see everything except keys. write: everything',
      oneOf(SIGN_IN_SCOPES),
      'write',
    )
    .addHelpText('after', '\nExample:\n  licensing sign-in')
    .action(({ baseUrl, scope }: { baseUrl?: string; scope: SignInScope }, command: Command) =>
      withSession(command, async ({ db, config, now, actor, output }) => {
        const site = baseUrl ?? config.operatorUrl ?? trialAddress(config);
        if (site === undefined)
          throw new OperatorError(
            'The address of the site is not known. Give it with --base-url https://YOUR.SITE, or set LICENSING_PUBLIC_URL.',
            { code: 'INVALID_REQUEST', field: 'base_url' },
          );
        const name = actor.replace(/^operator:/, '');
        const codeFor = { kind: 'operator', actor, name, scope, operatorId: null } as const;
        const code = await createCode(db, codeFor, OPERATOR_CODE_TTL_MS, now);
        const url = `${site}${API_PATH}/pages/enter/${code}`;
        const expiresAt = formatTimestamp(new Date(now.getTime() + OPERATOR_CODE_TTL_MS));
        output.print({ url, expires_at: expiresAt }, url);
        output.note(`Open it before ${expiresAt}. It works once: do not pass it on.`);
        if (baseUrl === undefined && config.operatorUrl === undefined)
          output.note(
            'It works only on this machine, because LICENSING_PUBLIC_URL is not set. For other machines: --base-url https://YOUR.SITE',
          );
      }),
    );
}

/** Returns the local address of a trial installation with SQLite; undefined for others, or if it listens elsewhere. */
function trialAddress({ database, listen }: Config): string | undefined {
  if (database.kind !== 'sqlite' || !('port' in listen) || listen.port === 0) return undefined;
  return /^(?:127\.|::1$|localhost$)/.test(listen.host)
    ? `http://${hostOf(listen.host)}:${listen.port}`
    : undefined;
}

function hostOf(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function siteAddress(text: string): string {
  const url = readPublicUrl(text.trim());
  if (url === undefined)
    throw new InvalidArgumentError('It must be an address such as https://shop.example.');
  return url;
}
