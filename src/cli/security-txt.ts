import { InvalidArgumentError, type Command } from 'commander';
import { formatTimestamp } from '../base/days';
import { isHttpsUrl } from '../licensing/fields';
import {
  isSecurityContact,
  makeSecurityTxt,
  SECURITY_TXT_DAYS,
  SECURITY_TXT_PATH,
  securityTxtEnd,
} from '../doctor/security-txt';
import { upTo } from './arguments';
import { createOutput } from './command';

/** The maximum of `--days`. A contact that is ten years old has often changed. */
const MAX_DAYS = 3_650;

export function addSecurityTxtCommand(program: Command): void {
  program
    .command('security-txt')
    .summary('print a contact for reports of security holes (security.txt)')
    .description(
      `Prints a file by RFC 9116, which tells researchers where to report a security hole. Publish it as ${SECURITY_TXT_PATH} on your site.`,
    )
    .requiredOption(
      '--contact <address>',
      'where to report: mailto:security@shop.example, or the https address of a form',
      securityContact,
    )
    .option('--policy <url>', 'the https address of your rules for reports', httpsAddress)
    .option('--days <days>', 'the days for which the file is valid', upTo(MAX_DAYS), SECURITY_TXT_DAYS)
    .addHelpText(
      'after',
      '\nExample:\n  licensing security-txt --contact mailto:security@shop.example > security.txt\n\nReplace it before it expires: "licensing doctor --url https://shop.example" warns 30 days before.',
    )
    .action((options: { contact: string; policy?: string; days: number }, command: Command) => {
      const expires = securityTxtEnd(new Date(), options.days);
      const text = makeSecurityTxt(options, expires);
      createOutput(command).print({ text, expires: formatTimestamp(expires) }, text.trimEnd());
    });
}

function securityContact(text: string): string {
  if (isSecurityContact(text)) return text;
  throw new InvalidArgumentError(
    'It must begin with mailto: or https:, such as mailto:security@shop.example.',
  );
}

function httpsAddress(text: string): string {
  if (isHttpsUrl(text)) return text;
  throw new InvalidArgumentError('It must be an https address, such as https://shop.example/security.');
}
