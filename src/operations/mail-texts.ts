import { Type } from '@sinclair/typebox';
import { OperatorError } from '../licensing/operator-error';
import { previewMail } from '../mail/preview';
import {
  builtInText,
  describeTextFault,
  findMailText,
  isOfOperators,
  parseMailText,
  placeholdersFor,
  TEXT_NAMES,
  TEXT_SOURCES,
  textId,
  type MailTextFault,
  type TextName,
} from '../mail/texts';
import { deleteSetting, MAIL_TEXT, readEffective, storeRow } from '../settings/stored';
import { CUSTOMER_LANGUAGES, type CustomerLanguage } from '../texts/customers/languages';
import { operatorLanguageOf } from '../texts/operators/languages';
import { notFound } from './kit/failures';
import { get, list, post, put, remove, type OperationCall } from './kit/operation';
import { strictObject, Text, textEnum } from './kit/schemas';

/** The operations on mails' texts: our own, the seller's in the database, and files of the machine, which win. */

const textFields = {
  name: textEnum(TEXT_NAMES),
  language: textEnum(CUSTOMER_LANGUAGES),
  source: textEnum(TEXT_SOURCES),
};

const MailTextThing = strictObject(
  {
    ...textFields,
    text: Type.String({ description: 'The text, whose first line is the subject.' }),
    built_in: Type.String({ description: 'The text that comes with this program.' }),
    placeholders: Type.Array(Text),
  },
  { title: 'MailText' },
);

const MAX_TEXT_LENGTH = 20_000;

const Written = strictObject({
  text: Type.String({
    maxLength: MAX_TEXT_LENGTH,
    description: 'The text, whose first line is the subject.',
  }),
});

interface Named {
  name: TextName;
  language: CustomerLanguage;
}

/** All texts, each in the languages of its readers. */
export const MAIL_TEXTS: Named[] = TEXT_NAMES.flatMap((name) =>
  CUSTOMER_LANGUAGES.filter(
    (language) => !isOfOperators(name) || operatorLanguageOf(language) === language,
  ).map((language) => ({ name, language })),
);

function namedBy({ path }: Pick<OperationCall, 'path'>): Named {
  const named = MAIL_TEXTS.find(({ name, language }) => name === path.name && language === path.language);
  if (named === undefined) throw notFound('mail text');
  return named;
}

async function readOne({ db, settings }: Pick<OperationCall, 'db' | 'settings'>, { name, language }: Named) {
  const { mailTexts } = await readEffective(db, settings.config);
  const { written, source } = findMailText(mailTexts, name, language);
  const built_in = builtInText(mailTexts, name, language);
  return { name, language, source, text: written, built_in, placeholders: placeholdersFor(name) };
}

/** Explains why a text in an export file is invalid, by the checks of `setMailText`. @param id `NAME.LANGUAGE` */
export function mailTextFault(id: string, text: string): string | undefined {
  const named = MAIL_TEXTS.find(({ name, language }) => textId(name, language) === id);
  if (named === undefined) return 'There is no such mail text.';
  // Do not count the line end with which it is stored.
  if (text.trimEnd().length > MAX_TEXT_LENGTH) return `It has more than ${MAX_TEXT_LENGTH} characters.`;
  const parsed = parseMailText(text, named.name);
  return 'code' in parsed ? `The text cannot be used: ${describeTextFault(parsed)}` : undefined;
}

function refuse(fault: MailTextFault): never {
  throw new OperatorError(`The text cannot be used: ${describeTextFault(fault)}`, {
    code: 'INVALID_REQUEST',
    field: 'text',
    facts: { reason: 'mail-text', fault },
  });
}

export const mailTextOperations = {
  listMailTexts: list(
    '/mail-texts',
    { summary: 'List the texts of mails', data: strictObject(textFields, { title: 'ListedMailText' }) },
    async ({ db, settings }) => {
      const { mailTexts } = await readEffective(db, settings.config);
      const data = MAIL_TEXTS.map(({ name, language }) => ({
        name,
        language,
        source: findMailText(mailTexts, name, language).source,
      }));
      return { data, next: null };
    },
  ),
  getMailText: get(
    '/mail-texts/{name}/{language}',
    { summary: 'Read a text of a mail', data: MailTextThing },
    async (call) => ({ data: await readOne(call, namedBy(call)) }),
  ),
  setMailText: put(
    '/mail-texts/{name}/{language}',
    {
      summary: 'Set a text of a mail',
      description:
        '409 if a file in LICENSING_MAIL_TEXTS_DIR sets this text, because the file takes precedence.',
      body: Written,
      data: MailTextThing,
    },
    async (call) => {
      const { db, body, settings, context } = call;
      const { name, language } = namedBy(call);
      if ((await readOne(call, { name, language })).source === 'file')
        throw new OperatorError(
          `${textId(name, language)}.txt in LICENSING_MAIL_TEXTS_DIR takes precedence over a text that is set here. Remove the file first.`,
          { code: 'CONFLICT', field: 'text', facts: { reason: 'text-file' } },
        );
      const text = body.text.replace(/\r\n?/g, '\n').trim();
      const parsed = parseMailText(text, name);
      if ('code' in parsed) refuse(parsed);
      await storeRow(
        db,
        `${MAIL_TEXT}${textId(name, language)}`,
        { value: `${text}\n`, valueSealed: null },
        context,
      );
      await settings.refresh();
      return { data: await readOne(call, { name, language }) };
    },
  ),
  resetMailText: remove(
    '/mail-texts/{name}/{language}',
    { summary: 'Restore the text that comes with this program' },
    async (call) => {
      const { name, language } = namedBy(call);
      if (!(await deleteSetting(call.db, `${MAIL_TEXT}${textId(name, language)}`)))
        throw notFound('mail text');
      await call.settings.refresh();
      return readOne(call, { name, language });
    },
  ),
  previewMailText: post(
    '/mail-texts/{name}/{language}/preview',
    {
      scope: 'read',
      summary: 'Fill in a text for an invented customer',
      description: 'Without `text`, the present text is used.',
      body: strictObject({ text: Type.Optional(Written.properties.text) }),
      data: strictObject({ subject: Text, text: Text, html: Text }, { title: 'MailPreview' }),
    },
    async (call) => {
      const { name, language } = namedBy(call);
      const { shopName, publicUrl } = await readEffective(call.db, call.settings.config);
      const written = call.body.text ?? (await readOne(call, { name, language })).text;
      const mail = previewMail(written, name, { language, shopName, publicUrl, now: call.now });
      if ('code' in mail) refuse(mail);
      const { subject, text, html } = mail;
      return { data: { subject, text, html } };
    },
  ),
};
