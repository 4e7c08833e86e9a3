import { findLicense, type License } from '../../../licensing/licenses';
import { isTerminalStatus, type LiveStatus } from '../../../licensing/core/states';
import { notFound } from '../../../operations/kit/failures';
import { readId } from '../../../operations/kit/request-params';
import { TextField } from '../kit/fields';
import type { OperatorCall } from '../page';
import type { Texts } from '../../../texts/operators/texts';
import { useView, type View } from '../view';

/** Helpers that the pages of one licence share. */

/** Returns the licence whose id is in the path. @throws OperationError (404) if it does not exist */
export async function licenseOf({ db, path }: OperatorCall): Promise<License> {
  const license = await findLicense(db, readId({ path }, 'id', 'licence'));
  if (license === undefined) throw notFound('licence');
  return license;
}

/** Returns the name of a licence: its customer, its order or its number, whichever exists first. */
export function licenseName({ id, customer, reference }: License, t: Texts): string {
  return customer ?? reference ?? t.license.number(String(id));
}

/** Returns the subtitle of a licence's pages: its name, product and plan. */
export function licenseSubtitle(license: License, t: Texts): string {
  return [licenseName(license, t), license.product.name, license.plan.name].join(' · ');
}

/** Returns the path of a licence's page, or of a page below it. */
export function pathOf({ id }: { id: number }, rest = ''): string {
  return `/licenses/${id}${rest}`;
}

/** Returns the breadcrumbs of a page below a licence. */
export function licenseBreadcrumbs(license: License, t: Texts): [title: string, path: string][] {
  return [
    [t.licenses.title, '/licenses'],
    [licenseName(license, t), pathOf(license)],
  ];
}

/** Returns the properties that all form pages of a licence share. @param rest the path below the licence's page */
export function licenseFormProps({ t }: View, license: License, rest: string) {
  return {
    nav: 'licenses',
    crumbs: licenseBreadcrumbs(license, t),
    sub: licenseSubtitle(license, t),
    path: pathOf(license, rest),
    back: pathOf(license),
  } as const;
}

/** The field for the reason of a change, which the history stores. */
export function ReasonTextField({ hint }: { hint?: string | undefined }) {
  const { t } = useView();
  return <TextField name="reason" label={t.license.reason} hint={hint ?? t.license.reasonHint} />;
}

/** Reports whether the licence's key can be mailed. */
export function canSendKey({ settings }: OperatorCall, license: License): boolean {
  const { customer, keySealed, status } = license;
  const hasMail = 'mailing' in settings && settings.mailing !== undefined;
  const isKept = keySealed !== null && settings.keySecret !== undefined;
  return hasMail && isKept && customer !== null && !isTerminalStatus(status as LiveStatus);
}
