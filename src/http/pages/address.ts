import { API_PATH } from '../../licensing/api';
import type { OperatorCall } from './page';

/** Returns the address of the operator's API for other programs. It is next to the pages. */
export function manageAddress({ ctx, view }: OperatorCall): string {
  return `${ctx.state.origin ?? ''}${view.to('').replace(/pages$/, 'manage')}`;
}

/** Returns the webhook URL of a payment provider. It is on the site's host even if the pages have their own host. */
export function hookAddress(call: OperatorCall, name: string): string {
  const { publicUrl } = call.settings;
  const hooks =
    publicUrl === undefined
      ? manageAddress(call).replace(/manage$/, 'hooks')
      : `${publicUrl.replace(/\/$/, '')}${API_PATH}/hooks`;
  return `${hooks}/${name}`;
}
