import { DAY_MS } from '../base/days';
import { API_PATH } from '../licensing/api';
import { supportMonth } from '../licensing/durations';
import { CUSTOMERS, type CustomerLanguage } from '../texts/customers/languages';
import { renderMail, type MailContent, type Values } from './render';
import { parseMailText, type MailText, type MailTextFault, type TextName } from './texts';

/** The preview of a mail's text, filled in for an invented customer. */

const KEY = 'K7QX-3MPA-9TWD-5HRC';

/** Returns the preview, or the fault of the text. @param written the text, with the subject in the first line */
export function previewMail(
  written: string,
  name: TextName,
  {
    language,
    shopName,
    publicUrl = 'https://shop.example',
    now,
  }: { language: CustomerLanguage; shopName: string; publicUrl: string | undefined; now: Date },
): MailContent | MailTextFault {
  const text: MailText | MailTextFault = parseMailText(written, name);
  if ('code' in text) return text;
  const { day } = CUSTOMERS[language].language;
  const myUrl = `${publicUrl}${API_PATH}/pages/my`;
  const values: Values = {
    shop: shopName || 'Example Shop',
    product: 'Gallery Pro',
    products: 'Gallery Pro',
    plan: 'Developer',
    ends: day(new Date(now.getTime() + 365 * DAY_MS)),
    old_key_ends: day(new Date(now.getTime() + 14 * DAY_MS)),
    paid_until: day(now),
    version: '1.9.1',
    cve: 'CVE-2026-12345',
    advisory: ['Change the passwords of all editors after the update'],
    fixed: ['XSS in the titles of images'],
    renew_url: 'https://shop.example/renew',
    billing_url: 'https://shop.example/billing',
    support_until: supportMonth('2031-12', CUSTOMERS[language].language),
    support_url: 'https://shop.example/support',
    my_url: myUrl,
    link: `${myUrl}/enter/EXAMPLE`,
    key: KEY,
    key_hint: '5HRC',
    keys: '',
    entry: 'Gallery Pro',
    days: '30',
    site: 'client.example',
    test_sites: 'staging.client.example',
    name: 'client.example',
  };
  return renderMail(text, values, language, [{ what: 'Gallery Pro (Developer)', key: KEY }]);
}
