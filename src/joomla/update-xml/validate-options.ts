import { API_PATH } from '../../licensing/api';
import { OperatorError } from '../../licensing/operator-error';
import { requireWebAddress, siteFolder } from '../addresses';
import { clientOfType, type ExtensionClient, type ExtensionType } from '../extension-types';
import { findPatternFault, MATCH_A_MAJOR, MATCH_A_MINOR } from '../target-platform';

/** Checks the options of an update XML. The functions throw an OperatorError with the option's name. */

export function refusedOption(field: string, message: string): OperatorError {
  return new OperatorError(message, { code: 'INVALID_REQUEST', field });
}

/** Returns the site of a URL, which may lead to its API or pages, without a slash at the end. */
export function readBaseUrl(text: string | undefined): string {
  if (text === undefined)
    throw new OperatorError(
      "Give the site's address with --base-url, such as https://shop.example. It is stored for the next time.",
    );
  const url = requireWebAddress(text, 'The base address', 'base_url');
  if (/[?#]/.test(text)) throw refusedOption('base_url', 'The base address must not have a "?" or "#".');
  const path = url.pathname.replace(/\/+$/, '').replace(new RegExp(`${API_PATH}$`), '');
  const folder = siteFolder(path);
  if (path !== folder)
    throw refusedOption(
      'base_url',
      `The base address is only the address of the site, without ${API_PATH}/, which is added. Write --base-url ${url.origin}${folder}`,
    );
  return url.origin + path;
}

/** Returns where extensions of the type are installed. For some types the seller must choose. */
export function defaultClient(type: ExtensionType): ExtensionClient {
  const client = clientOfType(type);
  if (client === undefined)
    throw refusedOption(
      'client',
      `A ${type} belongs to the site or to the administrator: add --client site or --client administrator.`,
    );
  return client;
}

/** Refuses a plugin without a folder, and a folder for other types. */
export function validateFolder(type: ExtensionType, folder: string): void {
  if (type === 'plugin' && folder === '')
    throw refusedOption(
      'folder',
      'Joomla finds a plugin by its folder (its group): add --folder, such as --folder system.',
    );
  if (type !== 'plugin' && folder !== '')
    throw refusedOption('folder', `Only plugins have a folder; Joomla would not find a ${type} with one.`);
}

export function validatePhp(phpMinimum: string): void {
  if (!isPhpVersion(phpMinimum))
    throw refusedOption('php_minimum', `"${phpMinimum}" is not a PHP version. Write it as 8.1 or 8.1.2.`);
}

/** Reports whether a text is a plain PHP version number. */
export function isPhpVersion(text: string): boolean {
  return /^[0-9]+(\.[0-9]+)*$/.test(text);
}

export function validateInfoUrl(infoUrl: string): void {
  requireWebAddress(infoUrl, 'The info address', 'info_url');
}

/** Refuses a target platform that is not a regular expression, or matches a Joomla version by accident. */
export function validatePlatform(pattern: string): void {
  const refuse = (message: string) => refusedOption('target_platform', message);
  const found = findPatternFault(pattern);
  switch (found?.fault) {
    case 'runaway':
      throw refuse(`The target platform is too long or too repetitive to be tested. ${MATCH_A_MAJOR}`);
    case 'no-expression':
      throw refuse(`The target platform "${pattern}" is not a regular expression. ${MATCH_A_MAJOR}`);
    case 'accidents':
      throw refuse(
        `The target platform "${pattern}" also matches Joomla ${found.accidents}: Joomla anchors only its first alternative at the beginning, and none at the end. ${MATCH_A_MINOR}`,
      );
  }
}
