/**
 * The icons of the navigation and of buttons, by their names in lucide-static. The build reads the list, and writes
 * the icons into `dist/pages/icons.json` (scripts/build-pages.mjs).
 */
export const LINE_ICONS = [
  'arrow-down-wide-narrow',
  'arrow-left',
  'check',
  'chevron-down',
  'chevron-right',
  'copy',
  'download',
  'ellipsis',
  'funnel',
  'globe',
  'key-round',
  'layout-dashboard',
  'mail',
  'menu',
  'package',
  'pause',
  'pencil',
  'plus',
  'refresh-cw',
  'rocket',
  'search',
  'send',
  'server',
  'settings',
  'shopping-bag',
  'users',
  'x',
] as const;

export type LineIconName = (typeof LINE_ICONS)[number];

/** The elements inside each icon's `svg` of 24 by 24, with their attributes. */
export type LineIcons = Record<LineIconName, [tag: string, attributes: Record<string, string>][]>;
