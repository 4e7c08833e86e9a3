import { thing } from '../../customers/en/words';
import { counted } from '../../case';

/** The results of the search field (support/search.ts). */
export const found = {
  several: (text: string, count: number, more: boolean) =>
    `${text}: ${more ? 'more than ' : ''}${counted(String(count), 'licence', 'licences')}`,
  none: {
    key: (_text: string) => 'No licence has this key',
    address: (text: string) => text,
    email: (text: string) => `No customer has the e-mail ${text}`,
    other: (text: string) => `Nothing was found for “${text}”`,
  },
  foundAs: {
    customer: 'customer',
    beginning: 'part of the e-mail',
    reference: 'order',
    id: 'licence number',
    hint: 'end of a key',
    refused: 'refused',
    start: 'beginning of a key',
    label: 'name of a key’s user',
    name: 'customer’s name',
    activated: (activationType: string) => `activated ${thing(activationType).one}`,
  },
};
