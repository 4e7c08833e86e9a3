import type { ErrorResponse } from '../../operations/kit/failures';
import { showFormOnRefusal, redirectIfDeleted } from './submit';
import { formState, type FormState } from './form-state';
import type { PageResponse, OperatorCall, PageCall, Route } from './page';

/** A page with a form: how to show it and what it does. */
interface Form<Call extends PageCall, Thing> extends Omit<Route<Call>, 'path' | 'post'> {
  /** finds the subject of the form @throws OperationError (404) if it does not exist */
  find?: (call: Call) => Promise<Thing> | Thing;
  /** returns the page, at first, and again with the submitted values and the mistake */
  show: (call: Call, form: FormState, thing: Thing) => Promise<PageResponse> | PageResponse;
  /** does the work of the form; `sent` is empty for an upload, which the operation reads itself */
  work: (call: Call, sent: URLSearchParams, thing: Thing) => Promise<PageResponse> | PageResponse;
  /** returns the page's own sentence for a refusal; undefined for the usual one */
  explain?: (call: Call, refused: ErrorResponse, sent: URLSearchParams, thing: Thing) => string | undefined;
  /** for a form that deletes: the page to redirect to if a second submission finds nothing to delete */
  whenDeleted?: string;
}

/**
 * Returns the route of a page with a form: GET shows it, POST does its work or shows it again. GET needs the scope
 * `write` unless `scope` differs. The other flags are those of a route.
 */
export function formRoute<Thing = undefined, Call extends PageCall = OperatorCall>(
  path: string,
  { find, show, work, explain, whenDeleted, ...route }: Form<Call, Thing>,
): Route<Call> {
  const findThing = async (call: Call) => (await find?.(call)) as Thing;
  const post = async (call: Call, sent: URLSearchParams): Promise<PageResponse> => {
    const thing = await findThing(call);
    return showFormOnRefusal(
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
    post:
      whenDeleted === undefined
        ? post
        : (call, sent) => redirectIfDeleted(whenDeleted, () => post(call, sent)),
    ...route,
  };
}
