import type { FormState } from '../form-state';
import { useView } from '../view';

/** The field for an API token, which the browser's password manager can store. */
export function TokenField({
  form,
  name,
  required = true,
}: {
  form: FormState;
  name: string;
  required?: boolean;
}) {
  const { signIn } = useView().t;
  const error = form.error(name);
  return (
    <>
      {/* A fixed user name, so that the password manager can store the token. Without a name, the field is not sent. */}
      <input
        class="visually-hidden"
        type="text"
        value="licensing"
        autocomplete="username"
        tabindex={-1}
        aria-hidden="true"
        readonly
      />
      <div class="fld">
        <label for={`f-${name}`}>{signIn.token}</label>
        <p class="hint" id={`hint-${name}`}>
          {signIn.tokenHint}
        </p>
        <input
          class="input"
          id={`f-${name}`}
          name={name}
          type="password"
          autocomplete="current-password"
          required={required}
          aria-describedby={`hint-${name}`}
          {...(error === undefined ? {} : { 'aria-invalid': 'true' })}
        />
      </div>
    </>
  );
}
