import { API_PATH } from '../../licensing/api';
import type { OperatorCall } from './page';

/** Where the operator's API is, for who calls it from elsewhere: beside the pages. */
export function manageAddress({ ctx, view }: OperatorCall): string {
  return `${ctx.state.origin ?? ''}${view.to('').replace(/pages$/, 'manage')}`;
}

/** Where a receiver takes messages: on the site's host, also when the pages have one of their own. */
export function hookAddress(call: OperatorCall, name: string): string {
  const { publicUrl } = call.settings;
  const hooks =
    publicUrl === undefined
      ? manageAddress(call).replace(/manage$/, 'hooks')
      : `${publicUrl.replace(/\/$/, '')}${API_PATH}/hooks`;
  return `${hooks}/${name}`;
}
