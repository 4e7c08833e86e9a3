import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { DOMParser, onErrorStopParsing } from '@xmldom/xmldom';
import { previewMail } from '../../src/mail/preview';
import { plainMail, renderMail, type MailContent } from '../../src/mail/render';
import { PLACEHOLDERS, readMailText, TEXT_NAMES, type TextName } from '../../src/mail/texts';
import { packageRoot } from '../../src/settings/config';
import { CUSTOMER_LANGUAGES, type CustomerLanguage } from '../../src/texts/customers/languages';

/** The HTML of mails, which is made from their texts. */

const texts = { builtIn: join(packageRoot, 'mails'), own: undefined };
const HOSTILE = `"><script>alert('1')</script><img src=x onerror=alert(1)>\n\n{key}`;
const KEYS = [
  { what: HOSTILE, key: 'AAAA-BBBB' },
  { what: 'Form Studio', key: 'CCCC-DDDD' },
];

function hostileMail(name: TextName, language: CustomerLanguage): MailContent {
  const values = Object.fromEntries([...PLACEHOLDERS[name], 'shop'].map((word) => [word, HOSTILE]));
  const fixed = Array.from({ length: 20 }, () => HOSTILE);
  return renderMail(
    readMailText(texts, name, language),
    { ...values, ...(name === 'security_release' ? { fixed } : {}), keys: '' },
    language,
    KEYS,
  );
}

function previewOf(name: TextName, language: CustomerLanguage, written?: string): MailContent {
  const { subject, body } = readMailText(texts, name, language);
  const mail = previewMail(written ?? `${subject}\n\n${body}`, name, {
    ...{ language, shopName: 'Nordlicht', publicUrl: undefined, now: new Date('2026-11-30') },
  });
  if ('code' in mail) throw new Error(mail.code);
  return mail;
}

const ELEMENTS = [
  ...['html', 'head', 'meta', 'title', 'style', 'body', 'div', 'table', 'tr', 'td'],
  ...['p', 'br', 'a', 'ul', 'li', 'code'],
];
const ATTRIBUTES = [
  ...['lang', 'charset', 'name', 'content', 'class', 'style', 'role', 'href', 'width', 'align', 'bgcolor'],
  ...['cellpadding', 'cellspacing', 'border'],
];

function expectFit({ html }: MailContent, language: CustomerLanguage): void {
  expect(Buffer.byteLength(html)).toBeLessThan(30 * 1024);
  const page = new DOMParser({ onError: onErrorStopParsing }).parseFromString(
    html.replace('<!doctype html>\n', ''),
    'application/xml',
  );
  expect(html).toContain(`<html lang="${language}">`);
  expect(html).toContain('<meta name="color-scheme" content="light dark" />');
  expect(html).toContain('@media (prefers-color-scheme:dark)');
  // Each element with a colour has a class whose rule replaces it in dark mode.
  const style = /<style>([^]*)<\/style>/.exec(html)?.[1] ?? '';
  for (const [, kinds = ''] of html.matchAll(/ class="([^"]+)"/g))
    expect(kinds.split(' ').some((kind) => style.includes(`.${kind}{`))).toBe(true);
  for (const [element] of html.matchAll(/<[a-z]+ [^>]*[";]color:[^>]*>/g))
    expect(element).toContain('class="');
  // Nothing is loaded: an address is only in a link or in text.
  expect(html).not.toMatch(/url\(|@import/);
  for (const element of page.getElementsByTagName('*')) {
    expect(ELEMENTS).toContain(element.tagName);
    for (const { name, value } of element.attributes) {
      expect(ATTRIBUTES).toContain(name);
      if (name === 'href') expect(value).toMatch(/^https?:\/\//);
      else expect(value).not.toMatch(/https?:/);
    }
  }
}

const ALL = [...TEXT_NAMES, 'reply' as const].flatMap((name) =>
  CUSTOMER_LANGUAGES.map((language) => [name, language] as const),
);

test.each(ALL)('%s in %s is small, well-formed, dark if wanted, and loads nothing', (name, language) => {
  if (name === 'reply') {
    const body = `Hello,\n\n${HOSTILE}\nhttps://shop.example/renew?a=1&b="x`;
    return expectFit(plainMail({ subject: HOSTILE, body }, { shop: HOSTILE, language }), language);
  }
  expectFit(previewOf(name, language), language);
  expectFit(hostileMail(name, language), language);
  const { html } = hostileMail(name, language);
  expect(html).toContain('&#60;script&#62;alert(&#39;1&#39;)');
});

describe('the HTML', () => {
  const buttonsIn = (html: string) =>
    [...html.matchAll(/<a class="button" href="([^"]*)"[^>]*>([^<]*)</g)].map(([, url, label]) => [
      label,
      url,
    ]);

  const my = 'https://shop.example/api/index.php/v1/licensing/pages/my';
  test.each([
    ['license_key', 'en', 'My licences', my],
    ['order_keys', 'de', 'Meine Lizenzen', my],
    ['reminder', 'en', 'Renew it here', 'https://shop.example/renew'],
    ['reminder_ended', 'de', 'Hier verlängern Sie', 'https://shop.example/renew'],
    ['payment_failed', 'en', 'Check here how you pay', 'https://shop.example/billing'],
    ['customer_link', 'en', 'Open', `${my}/enter/EXAMPLE`],
    ['operator_link', 'de', 'Öffnen', `${my}/enter/EXAMPLE`],
    ['key_changed', 'en', 'My licences', my],
    ['site_removed', 'en', 'Your licence', my],
    ['security_release', 'de', 'Download', my],
    ['address_new', 'de', 'Meine Lizenzen', my],
    ['webhook_disabled', 'en', 'Open', `${my}/enter/EXAMPLE`],
  ] as const)('of %s in %s has one button: %s', (name, language, label, url) => {
    expect(buttonsIn(previewOf(name, language).html)).toEqual([[label, url]]);
  });

  test('has no button without a link of a web page', () => {
    expect(buttonsIn(previewOf('test', 'en').html)).toEqual([]);
    expect(buttonsIn(previewOf('address_old', 'en').html)).toEqual([]);
    const evil = renderMail(
      { subject: 'S', body: 'Renew: {renew_url}\nor {my_url}' },
      { renew_url: 'javascript:alert(1)', my_url: 'https://shop.example/?a="b' },
      'en',
    );
    expect(evil.html).not.toContain('href="javascript');
    expect(buttonsIn(evil.html)).toEqual([['My licences', 'https://shop.example/?a=&#34;b']]);
  });

  const boxesIn = (html: string) =>
    [...html.matchAll(/<td class="sunk key"[^>]*>([^<]*)</g)].map(([, key]) => key);

  test('has a box for each key, and the words before it', () => {
    expect(boxesIn(hostileMail('order_keys', 'en').html)).toEqual(['AAAA-BBBB', 'CCCC-DDDD']);
    const { html } = previewOf(
      'license_key',
      'en',
      'S\n\nYour key for {product}: {key}\nIn words: {key}, again.',
    );
    expect(boxesIn(html)).toEqual(['K7QX-3MPA-9TWD-5HRC']);
    expect(html).toContain('Your key for Gallery Pro:</p>');
    expect(html).toMatch(/In words: <code [^>]*>K7QX-3MPA-9TWD-5HRC<\/code>, again\./);
  });

  test('shows the first sentence in the inbox, but no key and no code', () => {
    const preheaderOf = ({ html }: MailContent) => /mso-hide:all">([^<]*?)&#847;/.exec(html)?.[1];
    expect(preheaderOf(previewOf('order_keys', 'en'))).toBe('Thank you for your order.');
    expect(preheaderOf(previewOf('license_key', 'en', 'S\n\n{key} is yours.'))).toBe('');
    expect(preheaderOf(previewOf('customer_link', 'en', 'S\n\n{link} opens.'))).toBe('');
    const reply = { subject: 'S', body: 'Your key\n\nDE300042-7F3A91C4-0B8D62E5-F83F554C' };
    expect(preheaderOf(plainMail(reply, { shop: 'Nordlicht', language: 'en' }))).toBe('Your key [key]');
  });

  test("names the shop once, above the text, which ends with the shop's name", () => {
    const { html, text } = previewOf('reminder', 'en');
    expect(text).toMatch(/\n\nNordlicht\n$/);
    expect(html.match(/Nordlicht/g)).toHaveLength(1);
    expect(html.indexOf('Nordlicht')).toBeLessThan(html.lastIndexOf('Gallery Pro (Developer) ends'));
  });
});
