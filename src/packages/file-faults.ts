import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { OperatorError } from '../licensing/operator-error';

/** Explains a failure to write a file, by its requested absolute path. @returns undefined for errors about something else */
export function explainFileFault(error: unknown, path: string): string | undefined {
  const { code = '', syscall, path: failed } = error as NodeJS.ErrnoException;
  const folder = dirname(path);
  // An error about something else, such as a missing database socket or a file to be read.
  if (syscall === 'connect') return undefined;
  if (failed !== undefined && dirname(failed) !== folder && !folder.startsWith(failed)) return undefined;
  switch (code) {
    case 'ENOENT':
      return `there is no folder ${folder}. Create it (mkdir -p ${folder}), or correct the path`;
    case 'ENOTDIR':
    case 'EEXIST':
      return `${folder} is not a folder. Correct the path`;
    case 'EISDIR':
      return 'it is a folder. Name a file in it';
    case 'EACCES':
    case 'EPERM':
      return `the user ${userName()} may not write to the folder ${folder}. Run this as a user who may, or give this user access (chown ${userName()} ${folder})`;
    case 'EROFS':
      return `${folder} is read-only here. Under systemd, the service may write only below /var/lib/licensing: "licensing doctor" explains what to do`;
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return 'the disk is full, or its limit for this user is reached. Make room';
    case 'EIO':
      return `the disk of ${folder} has a fault (EIO)`;
    default:
      return undefined;
  }
}

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** Explains a failure to store a file in `folder` to the sender. Other errors are returned unchanged. */
export function toStorageError(error: unknown, folder: string): unknown {
  const fault = explainFileFault(error, join(folder, 'file'));
  if (fault === undefined) return error;
  const isFull = FULL.includes((error as NodeJS.ErrnoException).code ?? '');
  return new OperatorError(
    isFull
      ? `The disk is full: the package was not stored in ${folder}, and nothing was published. Make room there, and try again.`
      : `The package was not stored, and nothing was published: ${fault}.`,
    {
      code: isFull ? 'INSUFFICIENT_STORAGE' : 'SERVICE_UNAVAILABLE',
      facts: { reason: isFull ? 'disk-full' : 'folder-closed' },
    },
  );
}

/** Explains why a file cannot be read, as the end of a sentence. */
export function explainReadFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'there is no such file';
    case 'EISDIR':
      return 'it is a folder';
    case 'EACCES':
      return `the user ${userName()} may not read it`;
    default:
      return message;
  }
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}
