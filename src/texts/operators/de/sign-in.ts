import type { signIn as en } from '../en/sign-in';
import type { Translated } from '../../translated';

export const signIn: Translated<typeof en> = {
  title: 'Anmelden',
  why: {
    ended:
      'Sie wurden abgemeldet: nach 30 Minuten ohne Nutzung, nach zwölf Stunden, oder weil Sie keine Berechtigung mehr haben.',
    again:
      'Bitte melden Sie sich noch einmal an: Das ändert etwas, zeigt ein Geheimnis oder ist endgültig, und Ihre Anmeldung ist über eine Stunde alt. Danach geht es weiter, wo Sie waren.',
  },
  again: {
    title: 'Bitte noch einmal anmelden',
    kept: 'Ihre Anmeldung ist über eine Stunde alt, und hier wird etwas geändert. Ihre Eingaben bleiben erhalten, und noch ist nichts geschehen.',
    byLink:
      'Wenn Sie sich mit einem Link anmelden, öffnen Sie ihn in einem anderen Tab dieses Browsers. Kommen Sie dann zurück, lassen Sie das Token leer und machen Sie weiter.',
    byDoor:
      'Sie kamen über Joomla: Öffnen Sie die Komponente dort in einem anderen Tab dieses Browsers und drücken Sie „Öffnen“. Kommen Sie dann zurück, lassen Sie das Token leer und machen Sie weiter.',
    elsewhere: 'In einem anderen Tab anmelden',
    submit: 'Weiter',
    table:
      'Ihre Anmeldung ist über eine Stunde alt. Bitte melden Sie sich in einem anderen Tab dieses Browsers noch einmal an, kommen Sie dann zurück und drücken Sie den Knopf noch einmal.',
  },
  door: {
    title: 'Über Joomla',
    about: 'Im Administrator Ihrer Website: Komponenten > Lizenzen > Öffnen.',
    go: 'Zu Joomla',
    refusedTitle: 'Sie sind nicht angemeldet',
    refused: {
      ORIGIN:
        'Sie kamen nicht von der Adresse Ihrer Website, die der Dienst kennt. Öffnen Sie Joomla unter dieser Adresse, oder lassen Sie sie unter Einstellungen berichtigen.',
      SITE: 'Der Dienst kann die Konten Ihrer Website nicht lesen. „licensing doctor“ zeigt, warum.',
      TICKET:
        'Dieser Zugang wurde schon benutzt, ist älter als eine Minute oder stammt von einer anderen Website. Drücken Sie in Joomla noch einmal „Öffnen“.',
      ACCOUNT:
        'Dieses Joomla-Konto ist gesperrt, umbenannt oder gelöscht. Melden Sie sich bei Joomla noch einmal an.',
      GROUP:
        'Dieses Joomla-Konto ist in keiner Gruppe, die Lizenzen verwalten darf. Die Gruppen werden auf dem Server festgelegt.',
    },
  },
  withToken: 'Mit einem Token',
  token: 'API-Token',
  tokenHint:
    'In Joomla: im Profil Ihres Benutzers, Reiter „Joomla-API-Token“. Es braucht das Recht, Lizenzen zu verwalten, wie es Super Users haben. Auch ein Token von diesen Seiten oder vom Befehl funktioniert.',
  submit: 'Anmelden',
  busy: 'Anmeldung läuft...',
  wrongToken: 'Dieses Token ist ungültig. Bitte kopieren Sie es noch einmal vollständig.',
  wrongGroup:
    'Dieses Token ist gültig, aber sein Konto darf keine Lizenzen verwalten. Fragen Sie einen Super User.',
  shopToken: 'Dieses Token ist für einen Shop (Bereich „issue“) und öffnet keine Seiten.',
  withLink: 'Mit einem Link',
  linkHint:
    'Auf dem Server gibt Ihnen dieser Befehl einen Link, der Sie einmal und innerhalb von zehn Minuten anmeldet:',
  email: 'Ihre E-Mail',
  emailHint: 'Eine Mail bekommt nur, wer mit seiner Adresse als Betreiber eingetragen ist.',
  mailLink: 'Link per Mail senden',
  enterHint: 'Dieser Link meldet Sie einmal an, als Betreiber der Lizenzen.',
  enter: 'Als Betreiber anmelden',
  usedTitle: 'Dieser Link gilt nicht mehr',
  used: 'Dieser Link wurde schon benutzt oder ist älter als zehn Minuten.',
  other: 'Anders anmelden',
};
