import { german, thing } from '../../customers/de/words';
import { button, type RemedyTexts } from '../remedy';

export const remedy: RemedyTexts = (step, activationType) => {
  switch (step.type) {
    case 'renew': {
      const label = `Um ${german.duration(step.duration)} verlängern`;
      const end = german.day(step.until);
      return button(label, `neu gültig bis ${end}, ab heute gerechnet`, `${label}: gültig bis ${end}`);
    }
    case 'reinstate': {
      const note = step.until ? `gültig bis ${german.day(step.until)}, wie zuvor` : 'unbefristet, wie zuvor';
      return button('Freigeben', note, `Freigeben: ${note}`);
    }
    case 'issue':
      return button(
        'Neue Lizenz ausstellen',
        'gleicher Kunde und Tarif; sie bekommt einen eigenen Schlüssel',
      );
    case 'remove_site':
      return button(`${thing(activationType).one} zum Entfernen wählen`);
    case 'raise_limit':
      return button(`${german.number(step.slots)} Plätze geben`);
    case 'raise_key_limit':
      return button(`Diesem Schlüssel ${german.number(step.slots)} Plätze geben`);
    case 'change_plan':
      return button('Tarif ändern');
    case 'publish':
      return button('Version veröffentlichen', 'bis dahin kann niemand etwas herunterladen');
    case 'restore_package':
      return button(
        'Nachsehen, was fehlt',
        'die Systemprüfung nennt die Datei; auch eine neue Version hilft',
      );
    case 'show_key':
      return button('Den jetzt gültigen Schlüssel anzeigen', 'senden Sie ihn dem Kunden');
    case 'add_key':
      return button('Schlüssel hinzufügen', 'der gesuchte gilt nicht mehr');
  }
};
