import type { Child } from 'hono/jsx';
import type { FormState } from '../form-state';
import { useView } from '../view';
import { ButtonLink, Form, FormErrors, Submit } from './fields';
import { TitledPage, type OperatorPageProps } from './operator-page';
import { Panel } from './panel';

/**
 * A page that is one form.
 *
 * With `danger`, it is a confirmation page for an action that cannot be undone. Its title is the question with the
 * thing's name, and `points` list the consequences. Its back link is never called "Cancel", which is the name of an
 * action.
 */
export function FormPage({
  title,
  sub,
  path,
  form,
  upload = false,
  above,
  about,
  points = [],
  danger = false,
  submit,
  busy,
  acts,
  autoSubmit,
  back,
  below,
  children,
  ...page
}: Omit<OperatorPageProps, 'children' | 'about'> & {
  /** the subject of the form, below the title */
  sub?: Child;
  /** the path that the form is sent to */
  path: string;
  form: FormState;
  upload?: boolean;
  /** the parts between the title and the form */
  above?: Child;
  /** a paragraph above the fields */
  about?: Child;
  /** consequences and conditions, one sentence each */
  points?: Child[];
  danger?: boolean;
  /** the button's text; undefined for a page without a submit button */
  submit: Child | undefined;
  busy?: string;
  /** true for one of several steps: a script submits it at once, unless the user returned to its page */
  autoSubmit?: boolean;
  /** further buttons */
  acts?: Child;
  /** the path of the back link; its text is "Back" unless a title is passed */
  back?: string | [title: string, path: string];
  /** the parts below the form */
  below?: Child;
  /** the fields */
  children?: Child;
}) {
  const { t } = useView();
  const [backTitle, backPath] = typeof back === 'string' ? [t.common.back, back] : (back ?? []);
  return (
    <TitledPage title={title} {...page} sub={sub}>
      {above}
      <Panel id="form" kind="narrow">
        <Form path={path} form={form} upload={upload} autoSubmit={autoSubmit}>
          <div class="in form">
            <FormErrors form={form} />
            {about === undefined ? null : <p>{about}</p>}
            {points.length === 0 ? null : (
              <ul>
                {points.map((one) => (
                  <li>{one}</li>
                ))}
              </ul>
            )}
            {children}
          </div>
          <footer class="acts">
            {submit === undefined ? null : (
              <Submit kind={danger ? 'danger' : 'primary'} busy={busy} label={submit} />
            )}
            {acts}
            {backPath === undefined ? null : <ButtonLink path={backPath} label={backTitle} />}
          </footer>
        </Form>
      </Panel>
      {below}
    </TitledPage>
  );
}
