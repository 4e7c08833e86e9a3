import { EXTENSION_CLIENTS, EXTENSION_TYPES } from '../../../joomla/extension-types';
import { readUpdateXmlOptions, type XmlOptions } from '../../../joomla/update-xml/options';
import { DATABASES } from '../../../joomla/update-xml/remembered';
import { requireProduct } from '../../../licensing/find-or-refuse';
import { STABILITIES } from '../../../licensing/versions';
import { readId } from '../../../operations/reading';
import { act, attempt } from '../act';
import { formState, type FormState } from '../form-state';
import { Form, FormErrors, Select, Submit, TextField } from '../kit/fields';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { updateXmlOperations } from '../../../operations/update-xml';

/** The options of a product's update XML. */

const TEXTS = ['description', 'info_url', 'info_title', 'target_platform', 'php_minimum', 'folder'] as const;
const WORDS = { tag: STABILITIES, type: EXTENSION_TYPES, client: EXTENSION_CLIENTS } as const;
type WordName = keyof typeof WORDS;

export const xmlOptionRoutes: Route<OperatorCall>[] = [
  {
    path: '/products/:id/update-xml',
    scope: 'write',
    get: (call) => showForm(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => save(call, sent),
        (form) => showForm(call, form),
        ({ error }) => call.view.t.products.xml.refused[error.field ?? ''],
      ),
  },
];

async function save(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const id = readId(call);
  const text = (name: string) => sent.get(name)?.trim() || null;
  const least = DATABASES.map((name) => [name, text(`db_${name}`)] as const).filter(
    ([, version]) => version !== null,
  );
  const body = {
    ...Object.fromEntries([...TEXTS, ...Object.keys(WORDS)].map((name) => [name, text(name)])),
    supported_databases: least.length === 0 ? null : Object.fromEntries(least),
  };
  const { state } = await act(call, sent, updateXmlOperations.setProductUpdateXml, { path: { id }, body });
  return done(`/products/${id}`, state === 'stale' ? 'xmlNotWritten' : 'saved');
}

async function showForm(call: OperatorCall, form: FormState): Promise<Answer> {
  const id = readId(call);
  const product = await requireProduct(call.db, id);
  return {
    page: <OptionsPage {...{ form, product, options: await readUpdateXmlOptions(call.db, id) }} />,
  };
}

function OptionsPage({
  form,
  product: { id, name },
  options,
}: {
  form: FormState;
  product: { id: number; name: string };
  options: XmlOptions;
}) {
  const { t } = useView();
  const { xml: texts, title: list } = t.products;
  const title = texts.title(name);
  const text = (field: (typeof TEXTS)[number], label: string, hint?: string) => (
    <TextField
      form={form}
      name={field}
      label={label}
      value={options[field] ?? ''}
      {...(hint === undefined ? {} : { hint })}
    />
  );
  const word = (field: WordName, label: string) => (
    <Select
      form={form}
      name={field}
      label={label}
      value={options[field] ?? ''}
      options={[
        { value: '', label: texts.usual },
        ...WORDS[field].map((one) => ({ value: one, label: one })),
      ]}
    />
  );
  return (
    <OperatorPage
      title={title}
      nav="products"
      crumbs={[
        [list, '/products'],
        [name, `/products/${id}`],
      ]}
    >
      <Head title={title} sub={texts.about} />
      <Panel id="options" kind="narrow">
        <Inside>
          <FormErrors form={form} />
          <Form path={`/products/${id}/update-xml`} form={form}>
            {text('target_platform', texts.platform, texts.platformHint)}
            {text('php_minimum', texts.php)}
            {DATABASES.map((database) => (
              <TextField
                form={form}
                name={`db_${database}`}
                label={texts.database(DATABASE_NAMES[database])}
                value={options.supported_databases?.[database] ?? ''}
              />
            ))}
            {word('tag', texts.tag)}
            {text('description', texts.description)}
            {text('info_url', texts.infoUrl)}
            {text('info_title', texts.infoTitle)}
            {word('type', texts.type)}
            {word('client', texts.client)}
            {text('folder', texts.folder, texts.folderHint)}
            <Submit>{t.common.save}</Submit>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

const DATABASE_NAMES = { mysql: 'MySQL', mariadb: 'MariaDB', postgresql: 'PostgreSQL' };
