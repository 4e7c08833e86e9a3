import { jsx, type FC } from 'hono/jsx';
import { expect, test } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { formState } from '../../src/http/pages/form-state';
import { createFormat } from '../../src/http/pages/format';
import { OPERATORS, pageTexts } from '../../src/texts/operators/languages';
import { ViewProvider, type View } from '../../src/http/pages/view';

/** Every component of the pages gets hostile texts in each property, and must show them as texts. */

const HOSTILE = `'"><script>alert(1)</script><img src=x onerror=alert(1)>`;
const NOW = new Date('2026-11-24T12:00:00Z');

const view: View = {
  language: 'en',
  operatorLanguage: 'en',
  t: pageTexts('en'),
  format: createFormat(pageTexts('en').language, 'UTC', NOW),
  theme: 'auto',
  to: (path, query = {}) => `/pages${path}${Object.values(query).join('')}`,
  asset: (name) => `/pages/${name}`,
  guide: (page) => `/pages/guide/${page}.html`,
  path: `/${HOSTILE}`,
  operator: { name: HOSTILE, scope: 'write' },
  counts: undefined,
  mayWrite: true,
  shopName: HOSTILE,
  logo: `/logo${HOSTILE}`,
  flash: { code: 'signedOut', values: [HOSTILE] },
  now: NOW,
};

/** A form that was filled in and refused. */
const form = formState(new URLSearchParams({ [HOSTILE]: HOSTILE }), { field: HOSTILE, sentence: HOSTILE });

const children = HOSTILE;
const field = { form, name: HOSTILE, label: HOSTILE, hint: HOSTILE, value: HOSTILE, placeholder: HOSTILE };
const options = [{ value: HOSTILE, label: HOSTILE, hint: HOSTILE }];
const page = { title: HOSTILE, nav: undefined, crumbs: [[HOSTILE, `/${HOSTILE}`]], about: HOSTILE, children };
const table = {
  ...{ caption: HOSTILE, rows: [HOSTILE], empty: null },
  columns: ['name', 'long'].map((kind) => ({ title: HOSTILE, kind, cell: (row: string) => row })),
};
const paging = { path: '/x', query: { after: HOSTILE }, next: HOSTILE, limit: 50 };

/** The properties of each component, by its name. A component without an entry fails the test. */
const PROPS: Record<string, Record<string, unknown>> = {
  BarChart: {
    ...{ id: HOSTILE, says: HOSTILE, what: HOSTILE, caption: HOSTILE, axis: [HOSTILE], empty: HOSTILE },
    ...{ bars: [{ label: HOSTILE, values: [1] }], series: [{ title: HOSTILE, colour: 'b' }] },
  },
  ButtonLink: { path: `/${HOSTILE}`, query: { q: HOSTILE }, label: HOSTILE },
  Checkbox: field,
  RadioGroup: { ...field, options },
  CopyText: { id: HOSTILE, label: HOSTILE, text: HOSTILE },
  ChangeList: { changelog: `security: ${HOSTILE}`, words: view.t.my.changes },
  CustomerPage: { ...page, action: HOSTILE },
  DayCalendar: {
    ...{ id: HOSTILE, says: HOSTILE, what: HOSTILE, series: HOSTILE, caption: HOSTILE },
    ...{ months: ['2026-11'], days: [{ day: '2026-11-23', value: 1 }] },
  },
  Document: { title: HOSTILE, children },
  DescriptionList: { facts: [[HOSTILE, HOSTILE], undefined] },
  FileField: { ...field, accept: HOSTILE },
  Filters: {
    ...{ path: `/${HOSTILE}`, label: HOSTILE, live: HOSTILE, hidden: { q: HOSTILE } },
    fields: [
      { name: HOSTILE, label: HOSTILE, value: HOSTILE },
      { name: HOSTILE, label: HOSTILE, value: HOSTILE, options },
    ],
  },
  Avatar: { name: HOSTILE },
  Footer: { preferences: '/preferences', languages: OPERATORS, help: HOSTILE },
  Form: { path: `/${HOSTILE}`, form, upload: true, kind: HOSTILE, label: HOSTILE, children },
  FormErrors: { form },
  FormPage: {
    ...{ ...page, sub: HOSTILE, path: `/${HOSTILE}`, form, about: HOSTILE, points: [HOSTILE] },
    ...{ submit: HOSTILE, busy: HOSTILE, acts: HOSTILE, back: [HOSTILE, `/${HOSTILE}`], below: HOSTILE },
  },
  PageHeader: { title: HOSTILE, sub: HOSTILE, actions: HOSTILE },
  HorizontalBars: {
    ...{ caption: HOSTILE, columns: [HOSTILE, HOSTILE, HOSTILE], empty: HOSTILE },
    rows: [{ label: HOSTILE, value: 1, of: 2, says: HOSTILE }],
  },
  Icon: { name: 'yes' },
  PanelBody: { children },
  LineIcon: { name: 'x' },
  ListPage: {
    ...{ ...page, ...table, sub: HOSTILE, actions: HOSTILE, above: HOSTILE, list: HOSTILE, filter: HOSTILE },
    ...{ tags: HOSTILE, paging, footer: HOSTILE, below: HOSTILE },
  },
  MailPreview: { mail: { subject: HOSTILE, text: HOSTILE, html: HOSTILE }, title: HOSTILE },
  Mark: { name: HOSTILE },
  MoreMenu: { label: HOSTILE, children },
  NoResults: { path: `/${HOSTILE}`, children },
  NoteLine: { children },
  NumberTable: {
    ...{ titles: [HOSTILE], rows: [{ label: HOSTILE, values: [HOSTILE, 1] }] },
    ...{ what: HOSTILE, caption: HOSTILE },
  },
  OperatorPage: page,
  Options: { options, chosen: HOSTILE },
  Pagination: paging,
  Panel: { id: HOSTILE, title: HOSTILE, aside: HOSTILE, footer: HOSTILE, kind: HOSTILE, children },
  Preferences: { preferences: `/${HOSTILE}`, languages: OPERATORS, children },
  Toast: {},
  SiteName: { of: HOSTILE },
  Select: { ...field, options },
  Status: { status: 'active', says: HOSTILE },
  StatusIcon: { status: 'active' },
  Submit: { busy: HOSTILE, name: HOSTILE, value: HOSTILE, label: HOSTILE },
  Table: table,
  Tag: { kind: 'ok', icon: 'yes', children },
  TextArea: field,
  TitledPage: { ...page, heading: HOSTILE, sub: HOSTILE, actions: HOSTILE },
  TextField: field,
  TimelineItem: { icon: HOSTILE, when: HOSTILE, children },
  UploadProgress: {},
  SavedViews: {
    label: HOSTILE,
    views: [{ title: HOSTILE, count: HOSTILE, path: `/${HOSTILE}`, query: { q: HOSTILE }, isCurrent: true }],
  },
};

const folder = join(__dirname, '../../src/http/pages/kit');
const components = readdirSync(folder)
  // oxlint-disable-next-line typescript/no-require-imports
  .flatMap((file) => Object.entries(require(join(folder, file)) as Record<string, FC>))
  .filter(([name]) => /^[A-Z][a-z]/.test(name));

test.each(components)('%s', (name, component) => {
  expect(Object.keys(PROPS)).toContain(name);
  const html = String(jsx(ViewProvider, { value: view }, jsx(component, PROPS[name]!)));
  expect(html).not.toMatch(/<script>|<img src=x|'">/);
  // Each text is shown whole, and a tag has only our own attributes.
  for (const [tag] of html.matchAll(/<[a-z][^\s>]*(?:\s[\w:-]+(?:="[^"]*")?)*\s*\/?>/gi))
    expect(tag.replace(/="[^"]*"/g, '')).not.toMatch(
      // The document of a mail's frame is escaped like every other value, and sandboxed.
      name === 'MailPreview' ? /\s(?:on\w+|style)\b/i : /\s(?:on\w+|style|srcdoc)\b/i,
    );
  const texts = JSON.stringify(PROPS[name]).split('onerror').length - 1;
  if (texts > 0 && !['Avatar', 'Mark'].includes(name))
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
});
