import type { Child } from 'hono/jsx';
import type { FormState } from '../form-state';
import { useView } from '../view';
import { Form, FormErrors, Submit } from './fields';
import { OperatorPage, type NavName } from './operator-page';
import { Head, Inside, Panel } from './panel';

/**
 * The page that asks before an action that cannot be taken back: its title is the question with the thing's name, then what
 * happens. The way back never says "Cancel", which is the name of an action.
 */
export function FinalAction({
  title,
  about,
  nav,
  crumbs,
  path,
  form,
  consequences,
  submit,
  busy,
  back,
  children,
}: {
  title: string;
  /** what it is about, below the title */
  about?: Child;
  nav: NavName;
  crumbs: [title: string, path: string][];
  /** where the form is sent to */
  path: string;
  form: FormState;
  /** what happens, a sentence each */
  consequences: Child[];
  submit: string;
  busy?: string;
  back: [title: string, path: string];
  /** fields, such as the reason */
  children?: Child;
}) {
  const { to } = useView();
  return (
    <OperatorPage title={title} nav={nav} crumbs={crumbs}>
      <Head title={title} {...(about === undefined ? {} : { sub: about })} />
      <Panel id="final" kind="narrow">
        <Inside>
          <FormErrors form={form} />
          <ul>
            {consequences.map((one) => (
              <li>{one}</li>
            ))}
          </ul>
          <Form path={path} form={form}>
            {children}
            <p class="acts mb-0">
              <Submit kind="danger" {...(busy === undefined ? {} : { busy })}>
                {submit}
              </Submit>
              <a class="btn btn-quiet" href={to(back[1])}>
                {back[0]}
              </a>
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}
