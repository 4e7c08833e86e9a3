import { useView } from '../view';
import type { LineIconName } from './line-icons';

/** Filled shapes of 16 by 16 pixels for states, in the colour of the text. Each is next to a word. */
const SHAPES = {
  yes: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm3.3 4.3L7 9.6 4.7 7.3 3.6 8.4 7 11.8l5.4-5.4Z',
  no: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1ZM5.6 4.6l-1 1L7 8l-2.4 2.4 1 1L8 9l2.4 2.4 1-1L9 8l2.4-2.4-1-1L8 7Z',
  clock:
    'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm0 1.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM7.3 4h1.4v3.7l2.4 1.8-.8 1.1-3-2.2Z',
  pause: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1ZM5.5 5v6h1.7V5Zm3.3 0v6h1.7V5Z',
  slash:
    'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1Zm0 1.5a5.5 5.5 0 0 0-4.3 8.9L11.4 3.7A5.5 5.5 0 0 0 8 2.5Zm4.3 2.1-7.7 7.7a5.5 5.5 0 0 0 7.7-7.7Z',
  minus: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1ZM4.5 7.2v1.6h7V7.2Z',
  warning: 'M8 1.5 15.5 14.5H.5ZM7.2 6v4.2h1.6V6Zm0 5.3v1.6h1.6v-1.6Z',
  info: 'M8 1a7 7 0 1 1 0 14A7 7 0 0 1 8 1ZM7.2 7v5h1.6V7Zm0-3v1.7h1.6V4Z',
  up: 'M8 3.5 13 11H3Z',
  down: 'M8 12.5 3 5h10Z',
  draft: 'M3 1.5h6.5L13 5v9.5H3ZM4.5 3v10h7V6H8.5V3Z',
} as const;

export type IconName = keyof typeof SHAPES;

/** @param kind a further class, such as a state's colour */
export function Icon({ name, kind = '' }: { name: IconName; kind?: string }) {
  return (
    <svg class={`ic ic-fill ${kind}`.trim()} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path fill-rule="evenodd" d={SHAPES[name]} />
    </svg>
  );
}

/** An icon in lines, for the navigation and for buttons. If an icon is alone, its button has a label. */
export function LineIcon({ name }: { name: LineIconName }) {
  return (
    <svg class="ic" aria-hidden="true" focusable="false">
      <use href={`${useView().asset('icons.svg')}#${name}`} />
    </svg>
  );
}
