import { EXTENSION_CLIENTS, EXTENSION_TYPES } from '../../../joomla/extension-types';
import { readUpdateXmlOptions } from '../../../joomla/update-xml/options';
import { DATABASES } from '../../../joomla/update-xml/saved-options';
import { requireProduct } from '../../../licensing/find-or-throw';
import { STABILITIES } from '../../../licensing/versions';
import { readId } from '../../../operations/kit/request-params';
import { submitOperation } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { Select, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { updateXmlOperations } from '../../../operations/update-xml';

/** The options of a product's update XML. */

const TEXTS = ['description', 'info_url', 'info_title', 'target_platform', 'php_minimum', 'folder'] as const;
const WORDS = { tag: STABILITIES, type: EXTENSION_TYPES, client: EXTENSION_CLIENTS } as const;
type WordName = keyof typeof WORDS;

export const xmlOptionRoutes: Route<OperatorCall>[] = [
  formRoute('/products/:id/update-xml', {
    show: showForm,
    work: save,
    explain: ({ view }, { error }) => view.t.products.xml.refused[error.field ?? ''],
  }),
];

async function save(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const id = readId(call);
  const text = (name: string) => sent.get(name)?.trim() || null;
  const least = DATABASES.map((name) => [name, text(`db_${name}`)] as const).filter(
    ([, version]) => version !== null,
  );
  const body = {
    ...Object.fromEntries([...TEXTS, ...Object.keys(WORDS)].map((name) => [name, text(name)])),
    supported_databases: least.length === 0 ? null : Object.fromEntries(least),
  };
  const { state } = await submitOperation(call, sent, updateXmlOperations.setProductUpdateXml, {
    path: { id },
    body,
  });
  return redirectWithFlash(`/products/${id}`, state === 'stale' ? 'xmlNotWritten' : 'saved');
}

async function showForm({ db, path, view: { t } }: OperatorCall, form: FormState): Promise<PageResponse> {
  const { id, name } = await requireProduct(db, readId({ path }));
  const options = await readUpdateXmlOptions(db, id);
  const { xml: texts, title: list } = t.products;
  const text = (field: (typeof TEXTS)[number], label: string, hint?: string) => (
    <TextField
      name={field}
      label={label}
      value={options[field] ?? ''}
      {...(hint === undefined ? {} : { hint })}
    />
  );
  const word = (field: WordName, label: string) => (
    <Select
      name={field}
      label={label}
      value={options[field] ?? ''}
      options={[
        { value: '', label: texts.usual },
        ...WORDS[field].map((one) => ({ value: one, label: one })),
      ]}
    />
  );
  return {
    page: (
      <FormPage
        title={texts.title(name)}
        sub={texts.about}
        nav="products"
        crumbs={[
          [list, '/products'],
          [name, `/products/${id}`],
        ]}
        path={`/products/${id}/update-xml`}
        form={form}
        submit={t.common.save}
      >
        {text('target_platform', texts.platform, texts.platformHint)}
        {text('php_minimum', texts.php)}
        {DATABASES.map((database) => (
          <TextField
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
      </FormPage>
    ),
  };
}

const DATABASE_NAMES = { mysql: 'MySQL', mariadb: 'MariaDB', postgresql: 'PostgreSQL' };
