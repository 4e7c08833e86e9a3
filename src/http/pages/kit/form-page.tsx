import type { Child } from 'hono/jsx';
import type { FormState } from '../form-state';
import { useView } from '../view';
import { ButtonLink, Form, FormErrors, Submit } from './fields';
import { TitledPage, type OperatorPageProps } from './operator-page';
import { Panel } from './panel';

/**
 * A page that is one form.
 *
 * With `danger` it asks before an action that cannot be taken back: its title is the question with the thing's name, and
 * `points` say what happens. The way back then never says "Cancel", which is the name of an action.
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
  goesOn,
  back,
  below,
  children,
  ...page
}: Omit<OperatorPageProps, 'children' | 'about'> & {
  /** what it is about, below the title */
  sub?: Child;
  /** where the form is sent to */
  path: string;
  form: FormState;
  upload?: boolean;
  /** between the title and the form */
  above?: Child;
  /** a paragraph above the fields */
  about?: Child;
  /** what there is to know first, a sentence each */
  points?: Child[];
  danger?: boolean;
  /** undefined: there is nothing to send */
  submit: Child | undefined;
  busy?: string;
  /** it is one of several steps: a script sends it, unless somebody came back to it */
  goesOn?: boolean;
  /** further buttons */
  acts?: Child;
  /** the way back, which says "Back" if it has no title of its own */
  back?: string | [title: string, path: string];
  /** below the form */
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
        <Form path={path} form={form} upload={upload} goesOn={goesOn}>
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
