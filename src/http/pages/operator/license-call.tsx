import { findLicense, type License } from '../../../licensing/licenses';
import { isTerminalStatus, type LiveStatus } from '../../../licensing/core/states';
import { notFound } from '../../../operations/kit/failures';
import { readId } from '../../../operations/kit/request-params';
import { TextField } from '../kit/fields';
import type { OperatorCall } from '../page';
import type { Texts } from '../../../texts/operators/texts';
import { useView, type View } from '../view';

/** What the pages of one licence share. */

/** The licence of the path, by its number. @throws OperationError (404) when there is none */
export async function licenseOf({ db, path }: OperatorCall): Promise<License> {
  const license = await findLicense(db, readId({ path }, 'id', 'licence'));
  if (license === undefined) throw notFound('licence');
  return license;
}

/** What a licence is called: its customer, else its order or number. */
export function licenseName({ id, customer, reference }: License, t: Texts): string {
  return customer ?? reference ?? t.license.number(String(id));
}

/** Which licence it is, in a line: below the title of a page about it. */
export function aboutOf(license: License, t: Texts): string {
  return [licenseName(license, t), license.product.name, license.plan.name].join(' · ');
}

/** The path of a licence's page, or of one below it. */
export function pathOf({ id }: { id: number }, rest = ''): string {
  return `/licenses/${id}${rest}`;
}

/** Links to the pages above those of a licence. */
export function crumbsOf(license: License, t: Texts): [title: string, path: string][] {
  return [
    [t.licenses.title, '/licenses'],
    [licenseName(license, t), pathOf(license)],
  ];
}

/** What the pages of forms below a licence share: where they are, and the way back. @param rest below the licence's path */
export function formOf({ t }: View, license: License, rest: string) {
  return {
    nav: 'licenses',
    crumbs: crumbsOf(license, t),
    sub: aboutOf(license, t),
    path: pathOf(license, rest),
    back: pathOf(license),
  } as const;
}

/** Why it is done; it stands in the history. */
export function Reason({ hint }: { hint?: string | undefined }) {
  const { t } = useView();
  return <TextField name="reason" label={t.license.reason} hint={hint ?? t.license.reasonHint} />;
}

/** Whether the licence's key can be mailed. */
export function canSendKey({ settings }: OperatorCall, license: License): boolean {
  const { customer, keySealed, status } = license;
  const hasMail = 'mailing' in settings && settings.mailing !== undefined;
  const isKept = keySealed !== null && settings.keySecret !== undefined;
  return hasMail && isKept && customer !== null && !isTerminalStatus(status as LiveStatus);
}
