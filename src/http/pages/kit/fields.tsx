import { createContext, useContext, type Child } from 'hono/jsx';
import { formState, SIGN_IN_AGAIN, type FormState } from '../form-state';
import { useView, type Query } from '../view';
import { Icon } from './icons';

/** The form around a field. */
const FormContext = createContext(formState());

/**
 * A form that is sent by POST, with its one-time id (idempotency).
 * @param upload true if it has a file, whose progress the script shows
 */
export function Form({
  path,
  form,
  upload = false,
  autoSubmit = false,
  kind,
  label,
  children,
}: {
  path: string;
  form: FormState;
  upload?: boolean;
  /** true if a script submits the form at once, unless the user returned to its page */
  autoSubmit?: boolean | undefined;
  kind?: string;
  label?: string;
  children: Child;
}) {
  const { t, to } = useView();
  const { sent, left, saving, stopped, failed } = t.common.upload;
  const progress = {
    'data-upload': '',
    'data-upload-sent': sent,
    'data-upload-left': left,
    'data-upload-saving': saving,
    'data-upload-stopped': stopped,
    'data-upload-failed': failed,
  };
  return (
    <form
      method="post"
      action={to(path, upload ? { once: form.id } : {})}
      {...(kind === undefined ? {} : { class: kind })}
      {...(label === undefined ? {} : { 'aria-label': label })}
      {...(autoSubmit ? { 'data-auto-submit': '' } : {})}
      {...(upload ? { enctype: 'multipart/form-data', ...progress } : {})}
    >
      {upload ? null : <input type="hidden" name="once" value={form.id} />}
      <FormContext.Provider value={form}>{children}</FormContext.Provider>
    </form>
  );
}

/** The error summary at the top of a refused form. */
export function FormErrors({ form: { failure, value } }: { form: FormState }) {
  const { t, to } = useView();
  if (failure === undefined) return null;
  const { field, sentence, reason } = failure;
  return (
    <div class="note note-bad" role="alert" tabindex={-1}>
      <Icon name="no" />
      <div>
        <strong>{t.kit.errors.title}</strong>{' '}
        {field !== undefined && value(field) !== undefined ? (
          // The field shows the sentence. If no field can show it, it is here (style/45-fields.css).
          <>
            <a class="at-field" href={`#f-${field}`}>
              {t.kit.errors.toField}
            </a>
            <a class="in-summary" href={`#f-${field}`}>
              {sentence}
            </a>
          </>
        ) : (
          sentence
        )}
        {reason === SIGN_IN_AGAIN ? (
          <>
            {' '}
            <a href={to('/sign-in')} target="_blank" rel="noopener">
              {t.signIn.again.elsewhere}
            </a>
          </>
        ) : null}
      </div>
    </div>
  );
}

interface FieldProps {
  /** the form's state; by default that of the form around the field */
  form?: FormState;
  name: string;
  label: string;
  hint?: Child;
  required?: boolean;
}

/** The frame of a form field: its label, control, hint and validation error. */
function Frame({
  form = useContext(FormContext),
  name,
  label,
  hint,
  required = false,
  children,
}: FieldProps & { children: Child }) {
  const { t } = useView();
  const error = form.error(name);
  return (
    <div class="fld">
      <label for={`f-${name}`}>
        {label}
        {required ? null : <span class="optional"> {t.kit.optional}</span>}
      </label>
      {hint === undefined ? null : (
        <p class="hint" id={`hint-${name}`}>
          {hint}
        </p>
      )}
      {children}
      {error === undefined ? null : (
        <p class="err" id={`e-${name}`}>
          <Icon name="warning" />
          {error}
        </p>
      )}
    </div>
  );
}

function described({ form = useContext(FormContext), name, hint }: FieldProps): object {
  const error = form.error(name);
  const ids = [error && `e-${name}`, hint === undefined ? '' : `hint-${name}`].filter(Boolean).join(' ');
  return { ...(error && { 'aria-invalid': 'true' }), ...(ids === '' ? {} : { 'aria-describedby': ids }) };
}

/** A field for one line of text. */
export function TextField({
  type = 'text',
  value = '',
  autocomplete = 'off',
  inputmode,
  placeholder,
  ...field
}: FieldProps & {
  type?: 'text' | 'email' | 'password' | 'number' | 'date' | 'url';
  /** the initial value of a new form */
  value?: string | number;
  autocomplete?: string;
  inputmode?: 'numeric';
  placeholder?: string;
}) {
  const { form = useContext(FormContext), name, required = false } = field;
  const typed = type === 'password' ? '' : (form.value(name) ?? String(value));
  return (
    <Frame {...field}>
      <input
        class="input"
        id={`f-${name}`}
        name={name}
        type={type}
        value={typed}
        autocomplete={autocomplete}
        required={required}
        {...(inputmode && { inputmode })}
        {...(placeholder && { placeholder })}
        {...described(field)}
      />
    </Frame>
  );
}

export function TextArea({ value = '', rows = 4, ...field }: FieldProps & { value?: string; rows?: number }) {
  const { form = useContext(FormContext), name, required = false } = field;
  return (
    <Frame {...field}>
      <textarea
        class="area"
        id={`f-${name}`}
        name={name}
        rows={rows}
        required={required}
        {...described(field)}
      >
        {form.value(name) ?? value}
      </textarea>
    </Frame>
  );
}

export interface Option {
  value: string | number;
  label: string;
}

export function Select({
  options,
  value = '',
  ...field
}: FieldProps & { options: Option[]; value?: string | number }) {
  const { form = useContext(FormContext), name, required = false } = field;
  const chosen = form.value(name) ?? String(value);
  return (
    <Frame {...field}>
      <select class="select" id={`f-${name}`} name={name} required={required} {...described(field)}>
        <Options options={options} chosen={chosen} />
      </select>
    </Frame>
  );
}

export function Options({ options, chosen }: { options: readonly Option[]; chosen: string }) {
  return (
    <>
      {options.map(({ value, label }) => (
        <option value={String(value)} selected={String(value) === chosen}>
          {label}
        </option>
      ))}
    </>
  );
}

export function Checkbox({
  form = useContext(FormContext),
  name,
  label,
  hint,
  checked = false,
  value = '1',
}: FieldProps & { checked?: boolean; value?: string }) {
  const isChecked = form.wasSent ? form.value(name) === value : checked;
  return (
    <div class="fld">
      <div class="opt">
        <input
          type="checkbox"
          id={`f-${name}`}
          name={name}
          value={value}
          checked={isChecked}
          {...described({ form, name, label, hint })}
        />
        <label for={`f-${name}`}>{label}</label>
        {hint === undefined ? null : (
          <p class="hint" id={`hint-${name}`}>
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}

/** A radio group: a choice of a few options that are all visible. */
export function RadioGroup({
  form = useContext(FormContext),
  name,
  label,
  options,
  value,
}: FieldProps & { options: (Option & { hint?: string })[]; value: string }) {
  const chosen = form.value(name) ?? value;
  return (
    <fieldset class="fld">
      <legend>{label}</legend>
      {options.map((option, i) => (
        <div class="opt">
          <input
            type="radio"
            id={i === 0 ? `f-${name}` : `f-${name}-${i}`}
            name={name}
            value={String(option.value)}
            checked={String(option.value) === chosen}
            required={true}
          />
          <label for={i === 0 ? `f-${name}` : `f-${name}-${i}`}>
            {option.label}
            {option.hint === undefined ? null : <span class="hint">{option.hint}</span>}
          </label>
        </div>
      ))}
    </fieldset>
  );
}

/** The progress of a form's upload. Without script, it asks the user not to close the page. */
export function UploadProgress() {
  const { upload } = useView().t.common;
  return (
    <>
      <p class="hint" data-upload-plain>
        {upload.plain}
      </p>
      <div data-upload-box hidden>
        <progress class="done-of" max={100} value={0} aria-label={upload.label} />
        <p class="hint" data-upload-text />
        <button class="btn btn-sm" type="button" data-upload-stop>
          {upload.stop}
        </button>
      </div>
      <p class="small" role="status" data-upload-status />
    </>
  );
}

/** A field for a file. */
export function FileField({ accept, ...field }: FieldProps & { accept: string }) {
  const { name, required = false } = field;
  return (
    <Frame {...field}>
      <input
        class="input"
        type="file"
        id={`f-${name}`}
        name={name}
        accept={accept}
        required={required}
        {...described(field)}
      />
    </Frame>
  );
}

type ButtonKind = 'primary' | 'quiet' | 'danger';

function buttonClass(kind: ButtonKind, small: boolean): string {
  return `btn${kind === 'quiet' ? '' : ` btn-${kind}`}${small ? ' btn-sm' : ''}`;
}

/** A link that looks like a button. */
export function ButtonLink({
  path,
  query,
  kind = 'quiet',
  small = false,
  label,
}: {
  path: string;
  query?: Query;
  kind?: ButtonKind;
  small?: boolean;
  label: Child;
}) {
  return (
    <a class={buttonClass(kind, small)} href={useView().to(path, query)}>
      {label}
    </a>
  );
}

/** @param busy the button's text while the form is sent */
export function Submit({
  kind = 'primary',
  small = false,
  busy,
  name,
  value,
  label,
}: {
  kind?: ButtonKind;
  small?: boolean;
  busy?: string | undefined;
  name?: string;
  value?: string;
  label: Child;
}) {
  const { t } = useView();
  return (
    <button
      class={buttonClass(kind, small)}
      type="submit"
      data-busy={busy ?? t.kit.busy}
      {...(name === undefined ? {} : { name, value })}
    >
      {label}
    </button>
  );
}
