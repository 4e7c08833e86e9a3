import { faultCode } from '../faults';
import type { Failure } from '../manage/failures';
import { CustomerPage } from './kit/customer-page';
import { OperatorPage } from './kit/operator-page';
import { Head } from './kit/panel';
import { useView } from './view';

/** A page that could not be shown, for the operator or the customer. */

export interface Trouble {
  status: number;
  /** for the log */
  code: string;
}

export function troubleOf(failure: Failure | undefined, error: unknown): Trouble {
  if (failure !== undefined) return { status: failure.status, code: failure.error.code };
  const code = faultCode(error);
  return { status: code === 'SERVICE_UNAVAILABLE' ? 503 : 500, code };
}

export function ErrorPage({
  trouble: { status },
  requestId,
  isCustomer,
}: {
  trouble: Trouble;
  requestId: string;
  isCustomer: boolean;
}) {
  const { t, to, path, operator } = useView();
  const { errors } = t.common;
  const says: Record<number, [title: string, hint: string]> = {
    404: [errors.notFound, errors.notFoundHint],
    403: [errors.forbidden, operator?.scope === 'read' ? errors.readOnly : errors.foreign],
    413: [errors.tooLarge, ''],
    429: [errors.tooMany, ''],
    503: [errors.away, ''],
    500: [errors.fault, errors.faultHint(requestId)],
  };
  const [title, hint] = says[status] ?? [errors.title, ''];
  const Page = isCustomer ? CustomerPage : OperatorPage;
  return (
    <Page title={title} nav={undefined}>
      <Head title={title} />
      <p>{hint}</p>
      <p>
        {status === 503 ? (
          <a href={to(path)}>{errors.again}</a>
        ) : (
          <a href={to(isCustomer ? '/my' : '/')}>{isCustomer ? t.my.title : errors.toOverview}</a>
        )}
      </p>
    </Page>
  );
}
