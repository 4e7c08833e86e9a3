import type { Command } from 'commander';
import { environment, envFilePath, loginName } from '../settings/config';
import { becomeServiceUser } from '../process/rights';

/** Commands that write root's files: the settings file in a system folder, units, the program. */
const NEED_ROOT = ['setup', 'init', 'upgrade'];
const NAMES_FILE = /[<[](?:file|dir|folder|zip)\b/;

/** Drops root's privileges: continues as the service's user, unless the command needs root. */
export function leaveRoot(command: Command): void {
  let top = command;
  while (top.parent?.parent) top = top.parent;
  if (NEED_ROOT.includes(top.name())) return;
  // Set the user's name like sudo, so that the history names the person.
  const SUDO_USER = loginName();
  const user = becomeServiceUser(envFilePath(), namesFile(command));
  if (user === undefined) return;
  Object.assign(environment(), user, { SUDO_USER });
  // Remove root's own folder for temporary files.
  delete environment().TMPDIR;
}

/** Reports whether this line names a file or folder, which needs the caller's permissions. */
function namesFile(command: Command): boolean {
  const { options, registeredArguments, args } = command;
  return (
    options.some(
      (option) =>
        NAMES_FILE.test(option.flags) && command.getOptionValue(option.attributeName()) !== undefined,
    ) ||
    registeredArguments.some(
      (argument, i) => /^(?:file|dir|folder|zip)\b/.test(argument.name()) && args[i] !== undefined,
    )
  );
}
