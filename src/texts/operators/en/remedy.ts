import { english, thing } from '../../customers/en/words';
import { button, type RemedyTexts } from '../remedy';

export const remedy: RemedyTexts = (step, activationType) => {
  switch (step.type) {
    case 'renew': {
      const label = `Renew for ${english.duration(step.duration)}`;
      const end = english.day(step.until);
      return button(label, `new end: ${end}, counted from today`, `${label}: new end ${end}`);
    }
    case 'reinstate': {
      const note = step.until ? `ends ${english.day(step.until)}, as before` : 'without an end, as before';
      return button('Reinstate', note, `Reinstate: ${note}`);
    }
    case 'issue':
      return button('Issue a new licence', 'same customer and plan; it gets its own key');
    case 'remove_site':
      return button(`Choose ${thing(activationType).a} to remove`);
    case 'raise_limit':
      return button(`Give ${english.number(step.slots)} slots`);
    case 'raise_key_limit':
      return button(`Give this key ${english.number(step.slots)} slots`);
    case 'change_plan':
      return button('Change the plan');
    case 'publish':
      return button('Publish a version', 'until then, no customer can download anything');
    case 'restore_package':
      return button('See what is missing', 'the doctor names the file; a new version also helps');
    case 'show_key':
      return button('Show the key that is valid now', 'send it to the customer');
    case 'add_key':
      return button('Add a key', 'the key of this request has ended');
  }
};
