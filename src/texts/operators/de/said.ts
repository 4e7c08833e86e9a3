import type { said as en } from '../en/said';
import type { Translated } from '../../translated';
import { counted } from '../../case';
import { many } from './common';

/** The message after each action. In German. */
export const said: Translated<typeof en> = {
  answerSent: (to) => `Die Mail an ${to} ist unterwegs.`,
  customerChanged: () => 'Der Kunde ist geändert.',
  customerErased: () => 'Die Daten des Kunden sind gelöscht. Die Lizenzen gelten ohne Namen weiter.',
  draftInstead: (version) =>
    `Ihre Anmeldung ist über eine Stunde alt. Deshalb ist ${version} als Entwurf gespeichert. Hier veröffentlichen Sie ihn, nachdem Sie sich noch einmal angemeldet haben.`,
  draftKept: (version) => `${version} ist als Entwurf gespeichert. Kunden sehen ihn nicht.`,
  foundEndedKey: () => 'Der gesuchte Schlüssel war einer dieser Lizenz. Er ist beendet.',
  foundOtherKey: () => 'Der gesuchte Schlüssel ist ein weiterer Schlüssel dieser Lizenz.',
  licenseCancelled: () => 'Die Lizenz ist storniert.',
  licenseCustomer: (customer) => `Der Kunde ist jetzt ${customer}.`,
  licenseKeyChanged: (hint) => `Der Schlüssel ${hint} ist geändert.`,
  licenseKeyEnded: (hint) => `Der Schlüssel ${hint} ist beendet.`,
  customerNoted: () => 'Die Notiz ist gespeichert.',
  licensesNone: () => 'Es war keine Lizenz ausgewählt.',
  licensesTooMany: (most) =>
    `Diese Liste hat mehr als ${most} Lizenzen. Es wurde nichts geändert. Filtern Sie sie zuerst.`,
  licenseKeySent: (customer) => `Der Schlüssel ist unterwegs an ${customer}.`,
  licenseNote: () => 'Die Notiz ist gespeichert.',
  licensePlan: (plan, slots) =>
    `Der Tarif ist jetzt ${plan}, mit ${counted(many(slots), 'Platz', 'Plätzen')}. Das Ende bleibt.`,
  licenseReinstated: () => 'Die Lizenz ist wieder aktiv. „Aussetzen“ unter „Mehr“ hält sie an.',
  licenseRenewed: (end) => `Verlängert. Die Lizenz ist gültig bis ${end}.`,
  licenseRenewedForLife: () =>
    'Verlängert. Die Lizenz ist unbefristet. Mit „Verlängern“ bekommt sie wieder ein Ende.',
  licenseRevoked: () => 'Die Lizenz ist entzogen.',
  licenseSiteAdded: (name, used) => `${name} ist hinzugefügt. ${used} belegt.`,
  licenseSiteRemoved: (name, free, followers) =>
    `${name} ist entfernt${followers === '' ? '' : `, und damit auch ${followers}`}. ${free === 'free' ? 'Dadurch wird kein Platz frei.' : 'Der Platz ist frei.'} Sie können es unten wieder hinzufügen.`,
  licenseSlots: (slots) => `Die Lizenz hat jetzt ${counted(many(slots), 'Platz', 'Plätze')}.`,
  licenseSuspended: () => 'Die Lizenz ist ausgesetzt. „Freigeben“ macht sie wieder aktiv.',
  mailAgain: () => 'Die Mail ist noch einmal unterwegs.',
  mailDismissed: () => 'Die Mail ist erledigt.',
  operatorLinkAsked: () =>
    'Wenn diese Adresse einem Betreiber gehört, ist eine Mail unterwegs. Ihr Link gilt einmal und zehn Minuten lang.',
  operatorAdded: (email) => `${email} kann sich jetzt per Mail einen Link zum Anmelden senden lassen.`,
  operatorRemoved: (email) => `${email} ist kein Betreiber mehr.`,
  orderCustomer: (customer) => `Der Kunde der Bestellung ist jetzt ${customer}.`,
  orderCustomerSent: (customer) =>
    `Der Kunde ist jetzt ${customer}, und der Schlüssel ist unterwegs dorthin.`,
  orderMapped: (sku, plan, done, others) =>
    `„${sku}“ hat jetzt den Tarif ${plan}.${done === '0' ? '' : ` Verarbeitete Bestellungen: ${done}.`}${others === '' ? '' : ` Nicht erledigt: ${others}.`}`,
  ordersRan: (done, others) =>
    `Verarbeitete Bestellungen: ${done}.${others === '' ? '' : ` Nicht erledigt: ${others}.`}`,
  planAdded: (plan) => `Der Tarif ${plan} ist angelegt. Sie können Lizenzen damit ausstellen.`,
  planRemoved: (plan) => `Der Tarif ${plan} ist entfernt.`,
  productAdded: (product) =>
    `Das Produkt ${product} ist angelegt. Fügen Sie einen Tarif hinzu, dann die erste Version.`,
  productRemoved: (product) => `Das Produkt ${product} ist entfernt.`,
  releasePublished: (version, xml, offered, percent) => {
    if (xml === 'stale')
      return `${version} ist veröffentlicht, aber Joomla bietet sie noch nicht an: Legen Sie das Update-XML so ab, wie diese Seite es zeigt.`;
    if (xml === 'not_set')
      return `${version} ist veröffentlicht. Joomla bietet sie nicht an: Unten steht, was fehlt.`;
    if (percent !== '100')
      return `${version} ist veröffentlicht. ${percent} % der Websites bekommen sie, die anderen bekommen ${offered || 'nichts'}.`;
    return offered === version
      ? `${version} ist veröffentlicht. Kunden bekommen ab jetzt ${version}.`
      : `${version} ist veröffentlicht. Joomla bietet weiter ${offered || 'nichts'} an.`;
  },
  releaseRolledOut: (version, percent, xml) => {
    const to = percent === '100' ? 'Alle Websites bekommen' : `${percent} % der Websites bekommen`;
    if (xml === 'stale')
      return `${to} ${version}, sobald sich das Update-XML schreiben lässt: siehe diese Seite.`;
    return `${to} jetzt ${version}.`;
  },
  releaseNotified: (version, mails) =>
    `Die Kunden werden über ${version} benachrichtigt. Mails unterwegs: ${mails}.`,
  releaseWithdrawn: (version, xml, offered) => {
    if (xml === 'stale')
      return `${version} ist zurückgezogen, aber Joomla bietet noch dasselbe an: Legen Sie das Update-XML so ab, wie diese Seite es zeigt.`;
    if (xml === 'not_set') return `${version} ist zurückgezogen.`;
    return `${version} ist zurückgezogen. Joomla bietet jetzt ${offered || 'nichts'} an.`;
  },
  saved: () => 'Gespeichert.',
  testMailSent: (to, answer) =>
    `Der Mailserver hat die Testmail an ${to} angenommen. Seine Antwort: ${answer}`,
  textReset: () => 'Die Mail hat wieder den Standardtext.',
  signingKeyAdded: (kid) => `Der Signaturschlüssel ${kid} ist angelegt. Bauen Sie ihn in Ihre Software ein.`,
  signingKeyRetired: (kid) => `Der Signaturschlüssel ${kid} ist ausgemustert.`,
  receiverAdded: (shop) =>
    `Der Shop ${shop} ist angelegt. Er nimmt Meldungen an, sobald sein Geheimnis eingetragen ist.`,
  shopAdded: (shop) =>
    `Der Shop ${shop} ist angelegt. Ordnen Sie seinen Artikeln Tarife zu, und lassen Sie ihn eine Bestellung melden.`,
  shopCaughtUp: (messages) =>
    messages === '0' ? 'Es fehlte keine Meldung.' : `Nachgeholt. Verpasste Meldungen: ${messages}.`,
  shopCatchUpGoesOn: (messages) =>
    `Verpasste Meldungen bisher: ${messages}. Die Liste ist lang, und der nächste Lauf macht dort weiter.`,
  shopCatchUpFailed: () =>
    'Die Liste ließ sich nicht bis zum Ende lesen. Der Grund steht auf dieser Seite. Übernommene Meldungen bleiben.',
  shopRemoved: (shop) => `Der Shop ${shop} ist gelöscht. Seine Bestellungen und Lizenzen bleiben.`,
  skuUnmapped: (sku) => `„${sku}“ hat keinen Tarif mehr. Bestellungen damit warten.`,
  webhookDisabled: () => 'Er ist ausgeschaltet. Neue Ereignisse warten.',
  webhookEnabled: () => 'Er ist eingeschaltet. Die wartenden Ereignisse werden gesendet.',
  webhookRemoved: (name: string) => `${name} ist entfernt.`,
  webhookReplayed: (id: string) =>
    `Zustellung ${id} wird gesendet. Laden Sie die Seite neu, um die Antwort zu sehen.`,
  webhookTested: () => 'Ein Test ist unterwegs. Laden Sie die Seite neu, um die Antwort zu sehen.',
  unmatchedAssigned: (license) => `Die Zahlung ist Lizenz ${license} zugeordnet und verarbeitet.`,
  unmatchedIssued: () => 'Diese Lizenz ist für die Zahlung ausgestellt.',
  unmatchedLeft: () => 'Die Meldung wird ignoriert.',
  tokenRevoked: (name) => `Das Token ${name} gilt nicht mehr.`,
  xmlNotWritten: () =>
    'Das Update-XML konnte nicht geschrieben werden. Laden Sie es herunter, und legen Sie es so ab, wie diese Seite es zeigt.',
  xmlWritten: () => 'Das Update-XML ist geschrieben.',
};
