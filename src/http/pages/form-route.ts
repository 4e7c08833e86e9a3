import type { Failure } from '../../operations/kit/failures';
import { attempt, unlessGone } from './act';
import { formState, type FormState } from './form-state';
import type { Answer, OperatorCall, PageCall, Route } from './page';

/** What a page with a form shows and does. */
interface Form<Call extends PageCall, Thing> extends Omit<Route<Call>, 'path' | 'post'> {
  /** what the form is about @throws ManageError (404) when there is no such thing */
  find?: (call: Call) => Promise<Thing> | Thing;
  /** the page: at first, and again with what was typed and what is wrong with it */
  show: (call: Call, form: FormState, thing: Thing) => Promise<Answer> | Answer;
  /** what the form does; `sent` is empty for an upload, which the operation reads itself */
  work: (call: Call, sent: URLSearchParams, thing: Thing) => Promise<Answer> | Answer;
  /** the page's own sentence for a refusal; undefined: the usual one */
  explain?: (call: Call, refused: Failure, sent: URLSearchParams, thing: Thing) => string | undefined;
  /** for a form that deletes: where it leads when it is sent a second time and finds nothing to delete */
  gone?: string;
}

/**
 * The route of a page with a form: GET shows it, POST does what it asks or shows it again. GET needs the scope `write`
 * unless `scope` says otherwise; the other flags are those of a route.
 */
export function formRoute<Thing = undefined, Call extends PageCall = OperatorCall>(
  path: string,
  { find, show, work, explain, gone, ...route }: Form<Call, Thing>,
): Route<Call> {
  const findThing = async (call: Call) => (await find?.(call)) as Thing;
  const post = async (call: Call, sent: URLSearchParams): Promise<Answer> => {
    const thing = await findThing(call);
    return attempt(
      call,
      sent,
      async () => work(call, sent, thing),
      (form) => show(call, form, thing),
      (refused) => explain?.(call, refused, sent, thing),
    );
  };
  return {
    path,
    scope: 'write',
    get: async (call) => show(call, formState(), await findThing(call)),
    post: gone === undefined ? post : (call, sent) => unlessGone(gone, () => post(call, sent)),
    ...route,
  };
}
