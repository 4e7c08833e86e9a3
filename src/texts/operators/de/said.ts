import type { said as en } from '../en/said';
import type { Translated } from '../../translated';
import { counted } from '../../case';
import { many } from './common';

/** The message after each action. In German. */
export const said: Translated<typeof en> = {
  answerSent: (to) => `Die Mail an ${to} ist unterwegs.`,
  customerChanged: () => 'Der Kunde ist geändert.',
  customerErased: () => 'Die Daten des Kunden sind gelöscht. Die Lizenzen wirken ohne Namen weiter.',
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
  licensesNone: () => 'Keine Lizenz war ausgewählt, deshalb geschah nichts.',
  licensesTooMany: (most) =>
    `Diese Liste hat mehr als ${most} Lizenzen, deshalb geschah nichts. Filtern Sie sie zuerst.`,
  licenseKeySent: (customer) => `Der Schlüssel ist unterwegs an ${customer}.`,
  licenseNote: () => 'Die Notiz ist gespeichert.',
  licensePlan: (plan, slots) =>
    `Der Tarif ist jetzt ${plan}, mit ${counted(many(slots), 'Platz', 'Plätzen')}. Das Ende ist geblieben.`,
  licenseReinstated: () => 'Die Lizenz ist wieder aktiv. „Aussetzen“ unter „Mehr“ hält sie an.',
  licenseRenewed: (end) => `Verlängert. Die Lizenz ist gültig bis ${end}.`,
  licenseRenewedForLife: () =>
    'Verlängert. Die Lizenz ist unbefristet. „Verlängern“ gibt ihr wieder ein Ende.',
  licenseRevoked: () => 'Die Lizenz ist entzogen.',
  licenseSiteAdded: (name, used) => `${name} ist hinzugefügt. ${used} belegt.`,
  licenseSiteRemoved: (name, free, followers) =>
    `${name} ist entfernt${followers === '' ? '' : `, und damit auch ${followers}`}. ${free === 'free' ? 'Es belegte keinen Platz, also wurde keiner frei.' : 'Der Platz ist frei.'} Sie können es unten wieder hinzufügen.`,
  licenseSlots: (slots) => `Die Lizenz hat jetzt ${counted(many(slots), 'Platz', 'Plätze')}.`,
  licenseSuspended: () => 'Die Lizenz ist ausgesetzt. „Freigeben“ macht sie wieder aktiv.',
  mailAgain: () => 'Die Mail ist wieder unterwegs.',
  mailDismissed: () => 'Die Mail ist erledigt.',
  operatorLinkAsked: () =>
    'Wenn diese Adresse einem Betreiber gehört, ist eine Mail unterwegs. Ihr Link gilt einmal und zehn Minuten lang.',
  operatorAdded: (email) => `${email} kann sich jetzt einen Link mailen lassen.`,
  operatorRemoved: (email) => `${email} ist kein Betreiber mehr.`,
  orderCustomer: (customer) => `Der Kunde der Bestellung ist jetzt ${customer}.`,
  orderCustomerSent: (customer) =>
    `Der Kunde ist jetzt ${customer}, und der Schlüssel ist unterwegs dorthin.`,
  orderMapped: (sku, plan, done, others) =>
    `„${sku}“ ist jetzt ${plan}.${done === '0' ? '' : ` Ausgeführte Bestellungen: ${done}.`}${others === '' ? '' : ` Nicht erledigt: ${others}.`}`,
  ordersRan: (done, others) =>
    `Ausgeführte Bestellungen: ${done}.${others === '' ? '' : ` Nicht erledigt: ${others}.`}`,
  planAdded: (plan) => `Den Tarif ${plan} gibt es nun. Lizenzen können mit ihm ausgestellt werden.`,
  planRemoved: (plan) => `Der Tarif ${plan} ist entfernt.`,
  productAdded: (product) =>
    `Das Produkt ${product} gibt es nun. Fügen Sie einen Tarif hinzu, dann die erste Version.`,
  productRemoved: (product) => `Das Produkt ${product} ist entfernt.`,
  releasePublished: (version, xml, offered, percent) => {
    if (xml === 'stale')
      return `${version} ist veröffentlicht, aber Joomla bietet sie noch nicht an: Legen Sie das Update-XML an seinen Ort, wie diese Seite sagt.`;
    if (xml === 'not_set')
      return `${version} ist veröffentlicht. Joomla bietet sie nicht an: Unten steht, was fehlt.`;
    if (percent !== '100')
      return `${version} ist veröffentlicht und wird ${percent} % der Adressen angeboten. Den übrigen wird ${offered || 'nichts'} angeboten.`;
    return offered === version
      ? `${version} ist veröffentlicht. Joomla bietet ab jetzt ${version} an.`
      : `${version} ist veröffentlicht. Joomla bietet weiter ${offered || 'nichts'} an.`;
  },
  releaseRolledOut: (version, percent, xml) => {
    const to = percent === '100' ? 'alle' : `${percent} % der Adressen`;
    if (xml === 'stale')
      return `${version} ist für ${to}, aber das Update-XML ließ sich nicht schreiben: siehe diese Seite.`;
    return `${version} wird jetzt für ${to} angeboten.`;
  },
  releaseNotified: (version, mails) =>
    `Die Kunden werden über ${version} benachrichtigt. Mails, die unterwegs sind: ${mails}.`,
  releaseWithdrawn: (version, xml, offered) => {
    if (xml === 'stale')
      return `${version} ist zurückgezogen, aber Joomla bietet noch dasselbe an: Legen Sie das Update-XML an seinen Ort, wie diese Seite sagt.`;
    if (xml === 'not_set') return `${version} ist zurückgezogen.`;
    return `${version} ist zurückgezogen. Joomla bietet jetzt ${offered || 'nichts'} an.`;
  },
  saved: () => 'Gespeichert.',
  testMailSent: (to, answer) => `Die Testmail an ${to} wurde angenommen. Der Server sagte: ${answer}`,
  textReset: () => 'Die Mail hat wieder den Text dieses Programms.',
  signingKeyAdded: (kid) => `Der Signaturschlüssel ${kid} ist angelegt. Bauen Sie ihn in Ihre Software ein.`,
  signingKeyRetired: (kid) => `Der Signaturschlüssel ${kid} ist ausgemustert.`,
  receiverAdded: (shop) =>
    `Der Shop ${shop} ist da. Er nimmt Nachrichten an, sobald sein Geheimnis bekannt ist.`,
  shopAdded: (shop) =>
    `Der Shop ${shop} ist da. Ordnen Sie seine Artikel zu, und lassen Sie ihn eine Bestellung melden.`,
  shopCaughtUp: (messages) =>
    messages === '0'
      ? 'Seine Liste hat nichts, was nicht angekommen war.'
      : `Nachgeholt. Nachrichten, die nicht angekommen waren: ${messages}.`,
  shopCatchUpGoesOn: (messages) =>
    `Nachrichten, die nicht angekommen waren, bisher: ${messages}. Seine Liste ist lang: Der nächste Lauf macht dort weiter.`,
  shopCatchUpFailed: () =>
    'Seine Liste ließ sich nicht bis zum Ende lesen. Der Grund steht daneben. Was übernommen ist, bleibt.',
  shopRemoved: (shop) => `Der Shop ${shop} ist gelöscht. Seine Bestellungen und Lizenzen bleiben.`,
  skuUnmapped: (sku) => `„${sku}“ hat keine Bedeutung mehr. Bestellungen, die ihn nennen, warten.`,
  webhookDisabled: () => 'Er ist ausgeschaltet. Was jetzt geschieht, wartet auf ihn.',
  webhookEnabled: () => 'Er ist eingeschaltet. Was auf ihn wartet, wird gesendet.',
  webhookRemoved: (name: string) => `${name} ist entfernt.`,
  webhookReplayed: (id: string) =>
    `Zustellung ${id} wird gesendet. Laden Sie die Seite neu, um die Antwort zu sehen.`,
  webhookTested: () => 'Ein Test ist unterwegs. Laden Sie die Seite neu, um die Antwort zu sehen.',
  unmatchedAssigned: (license) => `Es gehört jetzt zu Lizenz ${license} und ist gelaufen.`,
  unmatchedIssued: () => 'Diese Lizenz ist für die Zahlung ausgestellt.',
  unmatchedLeft: () => 'Es bleibt, wie es ist.',
  tokenRevoked: (name) => `Das Token ${name} gilt nicht mehr.`,
  xmlNotWritten: () =>
    'Das Update-XML konnte nicht geschrieben werden. Laden Sie es herunter und legen Sie es an seinen Ort.',
  xmlWritten: () => 'Das Update-XML ist geschrieben.',
};
