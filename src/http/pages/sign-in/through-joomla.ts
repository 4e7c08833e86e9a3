import { readSession } from '../../../access/sessions';
import { readSessionCookie } from '../../session-cookies';
import type { PageCall } from '../page';

/** Returns the address of the component in Joomla; undefined without a site or without its address. */
export function doorAddress({ settings: { config } }: Pick<PageCall, 'settings'>): string | undefined {
  const { joomlaRoot, publicUrl } = config;
  return joomlaRoot === undefined || publicUrl === undefined
    ? undefined
    : `${publicUrl}/administrator/index.php?option=com_licensing`;
}

/** Reports whether the browser's session was opened through Joomla. */
export async function hasDoorSession({ ctx, db, at, authenticate }: PageCall): Promise<boolean> {
  const cookie = readSessionCookie(ctx, 'operator');
  if (cookie === undefined) return false;
  const session = await readSession(db, 'operator', cookie, at, authenticate.isAccountIn);
  return typeof session === 'object' && session.caller.byDoor === true;
}
