import { unexpectedErrorCode } from '../faults';
import type { ErrorResponse } from '../../operations/kit/failures';
import { formState } from './form-state';
import { CustomerPage } from './kit/customer-page';
import { Form, Submit } from './kit/fields';
import { TitledPage } from './kit/operator-page';
import { useView } from './view';

/** The page for a failed request of an operator or a customer. */

export interface ErrorPageProps {
  status: number;
  /** the code for the log */
  code: string;
}

export function errorPageProps(failure: ErrorResponse | undefined, error: unknown): ErrorPageProps {
  if (failure !== undefined) return { status: failure.status, code: failure.error.code };
  const code = unexpectedErrorCode(error);
  return { status: code === 'SERVICE_UNAVAILABLE' ? 503 : 500, code };
}

export function ErrorPage({
  trouble: { status },
  requestId,
  isCustomer,
  sent,
}: {
  trouble: ErrorPageProps;
  requestId: string;
  isCustomer: boolean;
  /** an operator's form; undefined if no form was sent */
  sent: URLSearchParams | undefined;
}) {
  const { t, to, path, operator } = useView();
  const { errors } = t.kit;
  const says: Record<number, [title: string, hint: string]> = {
    404: [errors.notFound, errors.notFoundHint],
    403: [errors.forbidden, operator?.scope === 'read' ? t.common.errors.readOnly : errors.foreign],
    413: [errors.tooLarge, errors.tooLargeHint],
    415: [errors.title, errors.compressed],
    429: [errors.tooMany, ''],
    503: [errors.away, ''],
    500: [errors.fault, errors.faultHint(requestId)],
  };
  const [title, hint] = says[status] ?? [errors.title, ''];
  const Page = isCustomer ? CustomerPage : TitledPage;
  return (
    <Page title={title} nav={undefined}>
      <p>{hint}</p>
      {status === 503 && sent !== undefined ? (
        <SendAgain sent={sent} />
      ) : (
        <p>
          {status === 503 ? (
            <a href={to(path)}>{errors.again}</a>
          ) : (
            <a href={to(isCustomer ? '/my' : '/')}>{isCustomer ? t.my.title : t.common.errors.toOverview}</a>
          )}
        </p>
      )}
    </Page>
  );
}

/** Offers to send the form again with its one-time id: it may have been processed although no answer arrived. */
function SendAgain({ sent }: { sent: URLSearchParams }) {
  const { t, path } = useView();
  const fields = [...sent].filter(([name]) => name !== 'once');
  return (
    <Form path={path} form={formState(sent, undefined, sent.get('once') ?? undefined)}>
      {fields.map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <p>{t.common.errors.onlyOnce}</p>
      <Submit label={t.kit.errors.again} />
    </Form>
  );
}
