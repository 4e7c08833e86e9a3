import type { Child } from 'hono/jsx';
import type { License } from '../../../licensing/licenses';
import type { Failure } from '../../../operations/failures';
import { attempt } from '../act';
import { formState, type FormState } from '../form-state';
import { Form, FormErrors, Submit, TextField } from '../kit/fields';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import type { Answer, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { aboutOf, crumbsOf, licenseOf, pathOf } from './license-call';

/** An action on a licence: GET asks, POST does it, or asks again with what is wrong. @param rest below the licence's path */
export function formRoute(
  rest: string,
  show: (call: OperatorCall, license: License, form: FormState) => Promise<Answer> | Answer,
  work: (call: OperatorCall, sent: URLSearchParams, license: License) => Promise<Answer>,
  explain: (call: OperatorCall, refused: Failure) => string | undefined = () => undefined,
): Route<OperatorCall> {
  return {
    path: `/licenses/:id${rest}`,
    scope: 'write',
    get: async (call) => show(call, await licenseOf(call), formState()),
    async post(call, sent) {
      const license = await licenseOf(call);
      return attempt(
        call,
        sent,
        () => work(call, sent, license),
        (form) => show(call, license, form),
        (refused) => explain(call, refused),
      );
    },
  };
}

/** The page of such an action. */
export function FormPage({
  license,
  rest,
  title,
  about,
  form,
  submit,
  busy,
  children,
}: {
  license: License;
  rest: string;
  title: string;
  about?: Child;
  form: FormState;
  /** undefined: there is nothing to choose from */
  submit: string | undefined;
  busy?: string;
  children?: Child;
}) {
  const { t, to } = useView();
  return (
    <OperatorPage title={title} nav="licenses" crumbs={crumbsOf(license, t)}>
      <Head title={title} sub={aboutOf(license, t)} />
      <Panel id="form" kind="narrow">
        <Inside>
          <FormErrors form={form} />
          {about === undefined ? null : <p>{about}</p>}
          <Form path={pathOf(license, rest)} form={form}>
            {children}
            <p class="acts mb-0">
              {submit === undefined ? null : (
                <Submit {...(busy === undefined ? {} : { busy })}>{submit}</Submit>
              )}
              <a class="btn btn-quiet" href={to(pathOf(license))}>
                {t.common.back}
              </a>
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

/** Why it is done; it stands in the history. */
export function Reason({ form, hint }: { form: FormState; hint?: string }) {
  const { t } = useView();
  return <TextField form={form} name="reason" label={t.license.reason} hint={hint ?? t.license.reasonHint} />;
}
